import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import PocketBase from 'pocketbase';
import { sign } from '../../kit/src/sign.ts';
import { type RunningChancery, start } from '../../src/start.ts';
import { makeKit } from '../../tools/build/make-kit.ts';
import { root } from '../../tools/build/root.ts';
import { run } from '../../tools/build/run.ts';
import { eventually } from '../support/eventually.ts';
import { FormBrowser } from './form-browser.ts';
import { freePort } from '../support/free-port.ts';

/** An application in examples/ with a package.json of its own. */
interface AppExample {
  readonly name: string;
  /** Variables with which it listens on a port of this machine. */
  readonly variables: (port: number) => Readonly<Record<string, string>>;
}

export const appExamples: readonly AppExample[] = [
  { name: 'next', variables: (port) => ({ PORT: String(port), NEXT_TELEMETRY_DISABLED: '1' }) },
  {
    name: 'sveltekit',
    variables: (port) => ({ HOST: '127.0.0.1', PORT: String(port), ORIGIN: `http://127.0.0.1:${port}` }),
  },
];

const superuser = { email: 'root@example.com', password: 'correct horse' };
const user = { email: 'ann@example.com', password: 'a long password' };

/** Installs and builds an example, starts it in front of a service, and fails unless it does what its README says. */
export async function checkApp(example: AppExample): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), `chancery-${example.name}-`));
  try {
    await using chancery = await start({
      data: join(folder, 'data'),
      port: 0,
      dev: true,
      logLevel: 'warn',
      superuser,
    });
    const client = await prepare(chancery);
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const endpoint: { readonly id: string; readonly secret: string } = await client.send(
      '/api/webhooks/endpoints',
      { method: 'POST', body: { url: `${url}/hook`, collections: ['posts'] } },
    );
    const environment = {
      ...example.variables(port),
      CHANCERY_URL: chancery.url,
      WEBHOOK_SECRET: endpoint.secret,
    };
    const app = join(folder, 'examples', example.name);
    install(example, app);
    await runScript(app, ['run', 'build'], environment).ended;
    const running = runScript(app, ['start'], environment);
    try {
      await eventually('the example answers', async () => {
        assert.equal((await fetch(url)).status, 200);
        return true;
      });
      await usePages(url, client);
      await checkWebhooks({ url, client, endpoint });
    } catch (error) {
      throw new Error(`${example.name} does not do what it should: ${running.output()}`, { cause: error });
    } finally {
      running.stop();
      await running.ended.catch(() => {});
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Makes what the examples need: posts that users may write, one post, and a user. Returns a client for the superuser. */
async function prepare({ url }: RunningChancery): Promise<PocketBase> {
  const client = new PocketBase(url).autoCancellation(false);
  await client.collection('_superusers').authWithPassword(superuser.email, superuser.password);
  await client.collections.create({
    name: 'posts',
    listRule: '',
    viewRule: '',
    createRule: "@request.auth.id != ''",
    fields: [{ name: 'title', type: 'text', required: true }],
  });
  await client.collection('posts').create({ title: 'The first post' });
  await client.collection('users').create({ ...user, passwordConfirm: user.password });
  return client;
}

/** Copies an example and installs its packages as its README says, from the archive of the kit that `npm run pack` makes. */
function install({ name }: AppExample, app: string): void {
  const source = join(root, 'examples', name);
  const built = /(^|\/)(node_modules|\.next|\.svelte-kit|build)(\/|$)/;
  cpSync(source, app, { recursive: true, filter: (path) => !built.test(path.slice(source.length)) });
  const dist = join(app, '../../dist');
  mkdirSync(dist);
  makeKit(dist);
  run('npm', ['install', '--no-audit', '--no-fund'], { cwd: app });
}

/** Reads the list, signs in, wrongly and rightly, and writes a post, all with forms. */
async function usePages(url: string, client: PocketBase): Promise<void> {
  const browser = new FormBrowser(url);
  assert.match(await browser.open('/'), /<li>The first post<\/li>/);
  await browser.open('/write');
  assert.match(await browser.submit({ ...user, password: 'wrong password' }), /role="alert"[^>]*>[^<]+</);
  assert.doesNotMatch(await browser.submit(user), /type="password"/);
  await browser.submit({ title: 'Written with a form' });
  const { items } = await client
    .collection('posts')
    .getList(1, 10, { filter: "title = 'Written with a form'" });
  assert.equal(items.length, 1);
  await eventually('the list has the post', async () =>
    (await browser.open('/')).includes('Written with a form'),
  );
}

interface Told {
  readonly url: string;
  readonly client: PocketBase;
  readonly endpoint: { readonly id: string; readonly secret: string };
}

/** Fails unless the list changes with a webhook that is genuine, and with nothing else. */
async function checkWebhooks({ url, client, endpoint }: Told): Promise<void> {
  const browser = new FormBrowser(url);
  const change = (action: string) =>
    client.send(`/api/webhooks/endpoints/${endpoint.id}/${action}`, { method: 'POST' });
  await change('pause');
  await client.collection('posts').create({ title: 'Nobody was told' });
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const body = JSON.stringify({ event: 'record.create', data: { id: 'r1' } });
  const forged = await fetch(`${url}/hook`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(await sign({ secret, id: 'evt_1', body })) },
    body,
  });
  assert.equal(forged.status, 401, await forged.text());
  assert.doesNotMatch(await browser.open('/'), /Nobody was told/);
  await change('resume');
  await eventually('a webhook has the list made again', async () =>
    (await browser.open('/')).includes('Nobody was told'),
  );
}

interface RunningScript {
  readonly ended: Promise<void>;
  readonly output: () => string;
  readonly stop: () => void;
}

/** Runs npm in a folder. `ended` rejects with all output if it fails. */
function runScript(
  folder: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): RunningScript {
  const path = [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);
  // A group of its own, as npm passes no signal on to what it has started.
  const child = spawn('npm', args, {
    cwd: folder,
    env: { ...process.env, PATH: path, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = once(child, 'close').then(() => {
    if (child.exitCode !== 0) throw new Error(`npm ${args.join(' ')} has failed: ${output}`);
  });
  return {
    ended,
    output: () => output,
    stop: () => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
    },
  };
}
