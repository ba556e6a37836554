import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { installKit } from './support/install-kit.ts';
import { signatureVectors } from './support/signature-vectors.ts';
import { temporaryTree, writeTree } from './support/temporary-tree.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** A program of a user: verifies each published vector by each scheme, and refuses what was changed. It prints what it found. */
const program = `
  import { SignatureError, verify, verifySignature } from '@chancery/webhooks';
  import { fetchHandler } from '@chancery/webhooks/fetch';
  import { RecordOrder } from '@chancery/webhooks/order';
  import { MemorySeen } from '@chancery/webhooks/seen';
  import { sign } from '@chancery/webhooks/sign';
  const vectors = ${JSON.stringify(signatureVectors)};
  let accepted = 0, refused = 0;
  for (const { secrets, id, timestampSeconds, body, serviceSignatures, webhookSignature } of vectors) {
    const headers = new Headers({
      'webhook-id': id,
      'webhook-timestamp': String(timestampSeconds),
      'webhook-signature': webhookSignature,
      'x-service-signature': serviceSignatures[0],
    });
    for (const scheme of ['standard', 'service']) {
      const options = { secret: secrets, scheme, nowMs: () => timestampSeconds * 1000 };
      await verifySignature(options, headers, body);
      accepted += 1;
      await verifySignature(options, headers, body + ' ').catch((error) => (refused += error instanceof SignatureError));
    }
  }
  const body = '{"event":"ping","timestamp":"2026-11-20T09:35:20.114Z","instance_id":"i","collection":"","data":{}}';
  const secret = 'correct horse battery staple';
  const request = new Request('http://localhost/', { method: 'POST', headers: await sign({ secret, id: 'e', body }), body });
  const options = { secret, seen: new MemorySeen(), order: new RecordOrder(), onWebhook: ({ event }) => (told = event.event) };
  let told = '';
  const { status } = await fetchHandler(options)(request);
  console.log(JSON.stringify({ accepted, refused, status, told }));`;
const count = signatureVectors.length * 2;
const expected = { accepted: count, refused: count, status: 200, told: 'ping' };

/** What the types promise a user, in a program that only the compiler sees. */
const typedProgram = `
  import { hopsHeaders, type Webhook, type WebhookEvent, verify } from '@chancery/webhooks';
  import { expressHandler } from '@chancery/webhooks/express';
  import { fastifyWebhooks } from '@chancery/webhooks/fastify';
  import { fetchHandler, honoHandler } from '@chancery/webhooks/fetch';
  import { RecordOrder } from '@chancery/webhooks/order';
  import { MemorySeen } from '@chancery/webhooks/seen';
  import { sign } from '@chancery/webhooks/sign';
  interface Post { title: string }
  interface Records { posts: Post; tags: { rank: number } }
  export function titleOf(event: WebhookEvent<Records>): string {
    // @ts-expect-error: tags have no title
    if (event.collection === 'tags') return event.data.title;
    // @ts-expect-error: there is no such collection
    if (event.collection === 'pots') return '';
    return event.collection === 'posts' ? event.data.title : event.event === 'ping' ? 'ping' : '';
  }
  export function reasonOf(event: WebhookEvent<Records>): string {
    if (event.event === 'endpoint.disabled' || event.event === 'endpoint.failing') return event.data.reason;
    if (event.event === 'endpoint.recovered') return event.data.url;
    // @ts-expect-error: it is about a record, a test or a delivery
    if (event.event !== 'delivery.exhausted' && event.event !== 'attempt.failed') return event.data.cause;
    return event.data.cause;
  }
  export function titleBefore({ event, changed, isChangedCut }: Webhook<Records>): string | undefined {
    if (event.collection !== 'posts') return changed.length > 0 && isChangedCut ? '' : undefined;
    // @ts-expect-error: posts have no rank
    void event.previous?.rank;
    return event.previous?.title;
  }
  export const send = (webhook: Webhook): Promise<Response> => fetch('http://localhost', { headers: hopsHeaders(webhook) });
  export const handle = fetchHandler<Records>({
    secret: () => 'x',
    seen: new MemorySeen(),
    order: new RecordOrder({ holdMs: 2_000 }),
    onWebhook: async (webhook) => {
      if (webhook.isTruncated) return webhook.event.data.id;
      return titleOf(webhook.event);
    },
  });
  export const id = (await verify(['a', 'b'], new Headers(await sign({ secret: 'a', id: 'e', body: '' })), '')).event.data['id'];
  export { expressHandler, fastifyWebhooks, honoHandler };`;

test('the package as npm installs it', async (t) => {
  const folder = temporaryTree(t, { 'program.mjs': program, 'package.json': '{ "type": "module" }' });
  installKit(folder);

  await t.test('runs in Node', () => {
    assert.deepEqual(run(process.execPath, ['program.mjs'], folder), expected);
  });

  await t.test('runs in Deno, without any permission', (t) => {
    if (!isInstalled('deno')) return t.skip('deno is not installed here');
    const options = ['run', '--no-prompt', '--node-modules-dir=manual', '--cached-only', 'program.mjs'];
    assert.deepEqual(run('deno', options, folder), expected);
  });

  await t.test('runs in Bun', (t) => {
    if (!isInstalled('bun')) return t.skip('bun is not installed here');
    assert.deepEqual(run('bun', ['program.mjs'], folder), expected);
  });

  await t.test('imports nothing but its own files, and has no dependency', () => assertAlone(folder));

  await t.test('has types for browsers, without those of Node', () => {
    const programs = { 'program.ts': typedProgram };
    assertTyped(folder, { place: 'browser', lib: ['es2022', 'dom'], types: [], programs });
  });

  await t.test('has types for Node, without those of browsers', () => {
    const programs = { 'program.ts': typedProgram };
    assertTyped(folder, { place: 'node', lib: ['es2024'], types: ['node'], programs });
  });

  await t.test('has a README whose examples compile', () => {
    const page = readFileSync(join(root, 'kit', 'README.md'), 'utf8');
    const blocks = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block = '']) => block);
    assert.ok(blocks.length >= 4);
    const examples = Object.fromEntries(blocks.map((block, index) => [`${index}.ts`, block]));
    const programs = { ...examples, 'surroundings.d.ts': surroundings };
    assertTyped(folder, { place: 'readme', lib: ['es2024'], types: ['node'], programs });
  });
});

test('the package has the version of the service', () => {
  assert.equal(packageAt(join(root, 'kit')).version, packageAt(root).version);
});

/** What the examples of the README take for granted. */
const surroundings = `
  import type { Webhook } from '@chancery/webhooks';
  import type { RecordPosition } from '@chancery/webhooks/order';
  declare global {
    const request: Request, body: string, secret: string, webhook: Webhook, last: RecordPosition | undefined;
    function savePost(id: string, title: string): Promise<void>;
    function save(data: object, position: RecordPosition): Promise<void>;
  }`;

function assertAlone(folder: string): void {
  const place = join(folder, 'node_modules', '@chancery', 'webhooks');
  const texts = globSync('dist/*.js', { cwd: place }).map((file) => readFileSync(join(place, file), 'utf8'));
  const imported = texts.flatMap((text) => [...text.matchAll(/\b(?:from|import)\s*\(?'([^']+)'/g)]);
  assert.ok(texts.length > 5 && imported.length > 5);
  for (const [, specifier] of imported) assert.match(specifier ?? '', /^\.\/[a-z-]+\.js$/);
  const { dependencies, peerDependencies, exports = {} } = packageAt(place);
  assert.deepEqual([dependencies, peerDependencies], [undefined, undefined]);
  for (const path of Object.values(exports).flatMap((paths) => Object.values(paths)))
    assert.notEqual(readFileSync(join(place, path), 'utf8'), '', path);
}

interface TypesPlace {
  readonly place: string;
  readonly lib: readonly string[];
  readonly types: readonly string[];
  readonly programs: Readonly<Record<string, string>>;
}

/** Checks programs of users where only these types are known. */
function assertTyped(folder: string, { place, lib, types, programs }: TypesPlace): void {
  const settings = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
  const compilerOptions = { ...settings, module: 'nodenext', target: 'es2022', noEmit: true, lib, types };
  writeTree(join(folder, place), {
    ...programs,
    'tsconfig.json': JSON.stringify({ compilerOptions, files: Object.keys(programs) }),
  });
  const modules = join(folder, place, 'node_modules');
  mkdirSync(modules);
  for (const name of ['@types', 'undici-types'])
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const checked = spawnSync(process.execPath, [compiler, '-p', join(folder, place)], { encoding: 'utf8' });
  assert.equal(checked.status, 0, checked.stdout);
}

function run(command: string, options: readonly string[], folder: string): unknown {
  const ended = spawnSync(command, options, { cwd: folder, encoding: 'utf8' });
  assert.equal(ended.status, 0, ended.stderr);
  return JSON.parse(ended.stdout);
}

function isInstalled(command: string): boolean {
  return spawnSync(command, ['--version']).status === 0;
}

interface PackageFile {
  readonly version?: string;
  readonly dependencies?: unknown;
  readonly peerDependencies?: unknown;
  readonly exports?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

function packageAt(folder: string): PackageFile {
  // Our own file: what is not in it as the type says makes the test fail.
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackageFile;
}
