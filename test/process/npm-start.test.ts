import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { delimiter, dirname } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const undici = 'NativeModule internal/deps/undici/undici';
const typeStripper = 'NativeModule internal/deps/amaro/dist/index';

/**
 * Tells on standard error, at the end of a process, which parts of Node and which files it has loaded, of which imports it has
 * asked Node where they lead, and by a number which flags V8 has.
 */
const tellLoaded = `
  import { registerHooks } from 'node:module';
  import { cachedDataVersionTag } from 'node:v8';
  const [asked, files] = [[], []];
  registerHooks({
    resolve: (specifier, context, next) => { asked.push(specifier); return next(specifier, context); },
    load: (url, context, next) => { files.push(url); return next(url, context); },
  });
  process.on('exit', () => {
    const told = { builtins: process.moduleLoadList, asked, files, flags: cachedDataVersionTag() };
    process.stderr.write(JSON.stringify(told) + String.fromCharCode(10));
  });`;
const preload = `--import=data:text/javascript,${encodeURIComponent(tellLoaded)}`;

interface Loaded {
  readonly builtins: readonly string[];
  readonly asked: readonly string[];
  readonly files: readonly string[];
  readonly flags: number;
}

test('a signal to what npm starts is a stop of the server', async (t) => {
  const { child, stdout } = await start(t);
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'close'), [0, null]);
  assert.match(stdout(), /"Stopped\."/);
});

test('a start loads nothing that a server may never need', async (t) => {
  // The first start strips the types of what has changed, and keeps them.
  await loadedByStart(t);
  const { builtins, files } = await loadedByStart(t);
  assert.ok(files.some((file) => file.endsWith('src/http/server/server.ts')));
  const needless =
    /\/(?:node_modules\/(?:ajv|entities|htmlparser2|nodemailer|pg|undici)|src\/transfer\/pocketbase)\/|src\/transfer\/(?!move-mark)/;
  assert.deepEqual(
    files.filter((file) => needless.test(file)),
    [],
  );
  assert.deepEqual(
    files
      .filter((file) => /\/http\/(?:openapi|schemas)\//.test(file))
      .map((file) => file.replace(/.*\//, ''))
      .toSorted(),
    // What routes are described with; the documents are made when they are asked for.
    ['description-route.ts', 'operation.ts', 'parameters.ts', 'refusals.ts', 'schema.ts'],
  );
  assert.equal(builtins.includes(undici), false, 'the client that fetch is made of');
  assert.equal(builtins.includes(typeStripper), false, 'the compiler that strips types');
});

test('a start asks Node for no file that an import of ours names', async (t) => {
  const { asked } = await loadedByStart(t);
  assert.ok(asked.includes('fastify'));
  assert.deepEqual(
    asked.filter((specifier) => specifier.startsWith('.') && specifier.endsWith('.ts')),
    [],
  );
});

test('a server has V8 make no object among the old ones', async (t) => {
  const { flags } = await loadedByStart(t);
  const flagsOf = (...given: readonly string[]): number =>
    parseLoaded(spawnSync(process.execPath, [...given, preload, '--eval', ''], { encoding: 'utf8' }).stderr)
      .flags;
  assert.notEqual(flags, flagsOf());
  assert.equal(flags, flagsOf('--no-allocation-site-pretenuring'));
});

test('what the test of loading looks for has these names in this Node', () => {
  const code = "import 'node:http';";
  const uses = ['--input-type=module-typescript', '--eval', code];
  // Or the code that an earlier run has stripped would be found.
  const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' };
  const { stderr } = spawnSync(process.execPath, [preload, ...uses], { encoding: 'utf8', env });
  const { builtins } = parseLoaded(stderr);
  assert.deepEqual(
    [undici, typeStripper].filter((name) => !builtins.includes(name)),
    [],
  );
});

interface Started {
  readonly child: ReturnType<typeof spawn>;
  readonly stdout: () => string;
  readonly stderr: () => string;
}

/** As npm does it: the script of package.json, with what was given behind it, by a shell. Resolves when it listens. */
async function start(t: TestContext): Promise<Started> {
  // Our own file: without this script there is no npm start.
  const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
    readonly scripts: { readonly start: string };
  };
  const command = `${scripts.start} --port 0 --data '${temporaryFolder(t)}'`;
  const path = `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`;
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('CHANCERY_'));
  const env = { ...Object.fromEntries(inherited), PATH: path, NODE_OPTIONS: preload };
  const child = spawn('sh', ['-c', command], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  for await (const _ of child.stdout.iterator({ destroyOnReturn: false }))
    if (stdout().includes('listens on')) break;
  return { child, stdout, stderr };
}

/** Until it listens. */
async function loadedByStart(t: TestContext): Promise<Loaded> {
  const { child, stderr } = await start(t);
  child.kill('SIGTERM');
  await once(child, 'close');
  return parseLoaded(stderr());
}

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = '';
  stream.on('data', (chunk) => (text += String(chunk)));
  return () => text;
}

function parseLoaded(text: string): Loaded {
  // Written by the lines above, at last by the server: before it, a process looks whether the dashboard has to be built.
  return JSON.parse(text.trimEnd().split('\n').at(-1) ?? '') as Loaded;
}
