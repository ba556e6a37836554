import assert from 'node:assert/strict';
import { hashSync } from 'bcryptjs';
import type { TestContext } from 'node:test';
import sharp from 'sharp';
import { Webhook } from 'standardwebhooks';
import packageJson from '../../package.json' with { type: 'json' };
import { readCommit } from '../../tools/build/read-commit.ts';
import { endWith, type Environment, MainProcess, type Ended } from '../support/main-process.ts';
import {
  makePocketbaseDirectory,
  sourceAccounts,
  sourceId,
  sourceUser,
} from '../support/pocketbase-directory.ts';
import { Receiver } from '../support/receiver.ts';

/** Chancery as somebody has it who has only what we ship. */
export interface Shipped {
  /** What is typed before the name of a command. */
  readonly program: readonly string[];
  /** The working directory, which is empty but for what was installed. */
  readonly folder: string;
  /** Variables that every command gets. */
  readonly environment?: Environment;
  /** Whether the library that makes thumbs is installed beside it. */
  readonly hasSharp?: boolean;
}

const email = 'root@example.com';
const password = 'correct horse';

/** Runs a command to its end. */
export function runShipped(t: TestContext, shipped: Shipped, args: readonly string[]): Promise<Ended> {
  return endWith(t, new MainProcess(args, shipped.environment, shipped)).ended;
}

/** Fails unless what was shipped says of itself what it was built from. */
export async function checkVersion(t: TestContext, shipped: Shipped): Promise<void> {
  const { code, stdout, stderr } = await runShipped(t, shipped, ['version', '--json']);
  assert.equal(code, 0, stderr);
  const { node, sqlite } = process.versions;
  const commit = readCommit()?.name ?? null;
  assert.deepEqual(JSON.parse(stdout), { version: packageJson.version, commit, node, sqlite });
}

/**
 * What Chancery is for, from an empty folder on: a superuser, a collection, an endpoint, a record, and its webhook with the right
 * signature. The accounts and records of another service come before that, so that each kind of thread has something to do as well.
 */
export async function doMainJob(t: TestContext, shipped: Shipped): Promise<void> {
  await requireSuccess(runShipped(t, shipped, ['import', 'pocketbase', makeSource(t)]));
  await requireSuccess(runShipped(t, shipped, ['superuser', 'upsert', email, password]));
  const server = endWith(t, new MainProcess(['serve', '--port', '0', '--dev'], shipped.environment, shipped));
  const { url } = await server.waitForLog(/listens on/);
  await checkDashboard(String(url));
  await tellReceiver(t, await signIn(String(url)));
  await useThreads(String(url));
  await checkPictures(await signIn(String(url)), shipped);
  server.kill('SIGTERM');
  const { code, stderr } = await server.ended;
  assert.deepEqual([code, stderr], [0, '']);
  const warnings = server.logLines().filter(({ level }) => Number(level) > 30);
  assert.deepEqual(
    warnings.map(({ msg }) => msg),
    shipped.hasSharp === true ? [] : ['Thumbnails are disabled: the package sharp cannot be loaded.'],
  );
}

/** Asks as the superuser; fails unless the answer has this status. */
interface Api {
  readonly url: string;
  /** Sends JSON or a form, if anything. Returns the body of the answer. */
  readonly ask: (path: string, body: object | undefined, status: number) => Promise<Record<string, unknown>>;
}

async function signIn(url: string, token?: string): Promise<Api> {
  const ask: Api['ask'] = async (path, body, status) => {
    const isForm = body instanceof FormData;
    const headers = {
      ...(token !== undefined && { authorization: token }),
      ...(!isForm && { 'content-type': 'application/json' }),
    };
    const sent = isForm ? body : JSON.stringify(body);
    const init = body === undefined ? { headers } : { method: 'POST', headers, body: sent };
    const response = await fetch(`${url}${path}`, init);
    const text = await response.text();
    assert.equal(response.status, status, text);
    // The cast holds: every answer of the API is an object.
    return JSON.parse(text) as Record<string, unknown>;
  };
  if (token !== undefined) return { url, ask };
  const path = '/api/collections/_superusers/auth-with-password';
  const signedIn = await ask(path, { identity: email, password }, 200);
  return signIn(url, String(signedIn['token']));
}

/** Has a receiver be told of a record, and checks what it got with the library that receivers use. */
async function tellReceiver(t: TestContext, { ask: api }: Api): Promise<void> {
  const receiver = await Receiver.open();
  t.after(() => receiver.close());
  await api('/api/collections', { name: 'posts', fields: [{ name: 'title', type: 'text' }] }, 200);
  const endpoint = await api('/api/webhooks/endpoints', { url: receiver.url, collections: ['posts'] }, 201);
  const post = await api('/api/collections/posts/records', { title: 'Hello' }, 201);
  const [request] = await receiver.waitForRequests(1);
  assert.ok(request !== undefined);
  // Each of these headers is sent once, so each is one text.
  const headers = request.headers as Record<string, string>;
  const told = new Webhook(String(endpoint['secret'])).verify(request.body.toString(), headers);
  // The library returns the body that it has verified.
  const { event, data } = told as { readonly event: string; readonly data: unknown };
  assert.equal(event, 'record.create');
  const { id, title, created, updated } = post;
  assert.deepEqual(data, { id, title, created, updated });
}

const rowsCount = 1_000;
/** So much to compare that the main thread leaves it to a thread that reads. */
const slowFilter = `${Array.from({ length: 190 }, () => "title~'a%b'").join('||')}||title!=''`;

/** The sign-in has the thread for bcrypt at work, the list one of those that read. */
async function useThreads(url: string): Promise<void> {
  const { ask: api } = await signIn(url);
  const path = '/api/collections/users/auth-with-password';
  await api(path, { identity: 'ann@example.com', password }, 200);
  const slow = `/api/collections/notes/records?perPage=1&filter=${encodeURIComponent(slowFilter)}`;
  const { totalItems } = await api(slow, undefined, 200);
  assert.equal(totalItems, rowsCount);
}

/** A picture is shown smaller where the library for that is installed, and as it is where it is not. */
async function checkPictures({ url, ask }: Api, { hasSharp = false }: Shipped): Promise<void> {
  const fields = [{ name: 'picture', type: 'file', maxSelect: 1, maxSize: 100_000 }];
  await ask('/api/collections', { name: 'pictures', viewRule: '', fields }, 200);
  const size = { width: 200, height: 200 };
  const picture = await sharp({ create: { ...size, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  const form = new FormData();
  form.set('picture', new Blob([picture], { type: 'image/png' }), 'red.png');
  const record = await ask('/api/collections/pictures/records', form, 201);
  const path = `/api/files/pictures/${String(record['id'])}/${String(record['picture'])}?thumb=100x100`;
  const shown = await fetch(url + path);
  assert.equal(shown.status, 200);
  const { width } = await sharp(await shown.arrayBuffer()).metadata();
  assert.equal(width, hasSharp ? 100 : size.width);
}

function makeSource(t: TestContext): string {
  const title = { id: 'text1', name: 'title', type: 'text' };
  const rows = Array.from({ length: rowsCount }, (_, n) => ({
    id: `note${String(n).padStart(11, '0')}`,
    title: 'title',
  }));
  const user = sourceUser('annaannaannaann', 'ann@example.com', hashSync(password, 4));
  const notes = { id: 'pbc_9', name: 'notes', fields: [sourceId, title], rows };
  return makePocketbaseDirectory(t, { tables: [...sourceAccounts([user]), notes] });
}

/** Fails unless the page of the dashboard and the script that it begins with are there. */
async function checkDashboard(url: string): Promise<void> {
  const page = await fetch(`${url}/_/`);
  const [script] = /assets\/index-[\w-]+\.js/.exec(await page.text()) ?? [];
  assert.ok(script !== undefined, `${url}/_/ answers ${page.status}`);
  assert.equal((await fetch(`${url}/_/${script}`)).status, 200);
}

async function requireSuccess(ended: Promise<Ended>): Promise<void> {
  const { code, stdout, stderr } = await ended;
  assert.equal(code, 0, `${stdout}${stderr}`);
}
