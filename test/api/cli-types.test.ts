import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { remoteRun } from '../support/command-stage.ts';
import { installKit } from '../support/install-kit.ts';
import { startService, type TestService } from '../support/service.ts';
import { temporaryTree, writeTree } from '../support/temporary-tree.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

async function startBlog(t: TestContext): Promise<TestService> {
  const service = await startService(t);
  const make = async (definition: object): Promise<string> => {
    const { status, json, text } = await service.request('/api/collections', {
      method: 'POST',
      token: true,
      body: definition,
    });
    assert.equal(status, 200, text);
    return String(json.id);
  };
  const users = (await service.request('/api/collections/users', { token: true })).json.id;
  const collectionId = await make({
    name: 'blog_posts',
    fields: [
      { name: 'title', type: 'text', required: true },
      { name: 'slug', type: 'text', required: true, autogeneratePattern: '[a-z]{8}' },
      { name: 'rank', type: 'number' },
      { name: 'isDraft', type: 'bool' },
      { name: 'tags', type: 'select', values: ['sea', 'land "x"'], maxSelect: 2 },
      { name: 'kind', type: 'select', values: ['news', 'story'] },
      { name: 'place', type: 'geoPoint' },
      { name: 'meta', type: 'json' },
      { name: 'day', type: 'date' },
      { name: 'images', type: 'file', maxSelect: 3 },
      { name: 'cover', type: 'file' },
      { name: 'author', type: 'relation', collectionId: users },
      { name: 'readers', type: 'relation', collectionId: users, maxSelect: 9 },
      { name: 'note', type: 'text', hidden: true },
      { name: 'created', type: 'autodate', onCreate: true },
    ],
  });
  await make({ name: 'blogPosts', fields: [] });
  await make({
    name: 'covers',
    fields: [{ name: 'post', type: 'relation', collectionId, required: true }],
    indexes: ['CREATE UNIQUE INDEX one_cover ON covers (post)'],
  });
  return service;
}

/** What a user may write, and what the compiler must refuse. */
const program = `
  import PocketBase from 'pocketbase';
  import type { BlogPosts2Create, TypedPocketBase } from './types.ts';
  export const pb = new PocketBase('http://127.0.0.1') as TypedPocketBase;
  export async function use(): Promise<void> {
    const posts = pb.collection('blog_posts');
    const post = await posts.getOne('id', { expand: 'author,covers_via_post' });
    const title: string = post.title;
    const rank: number = post.rank;
    const tags: ('sea' | 'land "x"')[] = post.tags;
    const lon: number = post.place.lon;
    const name: string | undefined = post.expand?.author?.name;
    const readers: string[] | undefined = post.expand?.readers?.map(({ id }) => id);
    const cover: string | undefined = post.expand?.covers_via_post?.id;
    const { items } = await pb.collection('users').getList(1, 20);
    const back: string | undefined = items[0]?.expand?.blog_posts_via_author?.[0]?.title;
    const signedIn = await pb.collection('users').authWithPassword('a', 'b');
    const mine: string | undefined = signedIn.record.email;
    await posts.create({ title: 'a', tags: ['sea'], day: new Date(), images: [new Blob([])] });
    await posts.create(new FormData());
    await posts.update(post.id, { 'rank+': 1, 'tags-': 'sea', '+readers': ['a'], cover: null });
    await posts.subscribe('*', ({ record }) => void record.title);
    await pb.collection('users').create({ email: 'a@b.example', password: '12345678', passwordConfirm: '12345678' });
    const other: string = (await pb.collection(title).getOne('id')).collectionName;
    const draft: BlogPosts2Create = { title: 'a', kind: '' };
    // @ts-expect-error: a title is required
    await posts.create({ rank: 1 });
    // @ts-expect-error: there is no such kind
    await posts.create({ title: 'a', kind: 'poem' });
    // @ts-expect-error: there is no such field
    await posts.update(post.id, { titel: 'a' });
    // @ts-expect-error: the service sets it
    await posts.update(post.id, { created: '' });
    // @ts-expect-error: there is no such field
    void post.titel;
    // @ts-expect-error: its type is not known
    const meta: string = post.meta;
    // @ts-expect-error: only superusers see it
    const note: string = post.note;
    // @ts-expect-error: no answer has a password
    void signedIn.record.password;
    void [rank, tags, lon, name, readers, cover, back, mine, other, draft, meta, note];
  }
`;

/** What a receiver may write, and what the compiler must refuse. */
const receiver = `
  import { hopsHeaders, verify } from '@chancery/webhooks';
  import type { Records } from './types.ts';
  export async function receive(headers: Headers, body: string): Promise<void> {
    const webhook = await verify<Records>('whsec_secret', headers, body);
    if (webhook.isTruncated) return;
    const { event } = webhook;
    // @ts-expect-error: it may be of any collection
    void event.data.rank;
    if (event.collection === 'blog_posts') {
      const title: string = event.data.title;
      const tags: ('sea' | 'land "x"')[] = event.data.tags;
      const lat: number = event.data.place.lat;
      const before: number | undefined = event.previous?.rank;
      // @ts-expect-error: no webhook has a hidden field
      void event.data.note;
      void [title, tags, lat, before];
    } else if (event.collection === 'users') {
      const email: string = event.data.email;
      // @ts-expect-error: no webhook has a password
      void [email, event.data.password];
    } else if (event.event === 'delivery.exhausted') {
      const cause: string = event.data.cause;
      void cause;
    }
    // @ts-expect-error: there is no such collection
    void (event.collection === 'comments');
    await fetch('http://127.0.0.1', { headers: hopsHeaders(webhook) });
  }
`;

test('types compile in a strict program beside the SDK, and refuse what is not in the collections', async (t) => {
  const service = await startBlog(t);
  const { code, stdout, stderr } = await remoteRun(service)(['types']);
  assert.equal(code, 0, stderr);
  assertCompiles(temporaryTree(t, { 'types.ts': stdout, 'program.ts': program }));
});

test('types of webhooks compile in a strict program beside the kit, and have what the catalogue has', async (t) => {
  const service = await startBlog(t);
  const run = remoteRun(service);
  const { code, stdout, stderr } = await run(['types', '--for', 'webhooks']);
  assert.equal(code, 0, stderr);
  const folder = temporaryTree(t, { 'types.ts': stdout, 'program.ts': receiver });
  installKit(folder);
  assertCompiles(folder);
  const catalogue = (await service.request('/api/webhooks/event-types', { token: true })).json;
  for (const { type, collection, schema } of catalogue.items) {
    if (type !== 'record.update') continue;
    const names = Object.keys(schema.properties.data.properties).toSorted();
    assert.deepEqual(fieldsIn(stdout, collection), names, collection);
  }
  assert.equal(stdout.match(/^ {2}\S+: \w+Fields;$/gm)?.length, 4);
  const out = join(folder, 'types.ts');
  assert.equal((await run(['types', '--for', 'webhooks', '--out', out, '--check'])).code, 0);
  const others = await run(['types', '--out', out, '--check']);
  assert.equal(others.code, 1, 'the types for a client are another file');
  assert.equal((await run(['types', '--for', 'forms'])).code, 64);
});

test('the same collections make the same file, and --check says when they are others', async (t) => {
  const service = await startBlog(t);
  const run = remoteRun(service);
  const out = join(temporaryTree(t, {}), 'types.ts');
  const missing = await run(['types', '--out', out, '--check']);
  assert.equal(missing.code, 1);
  assert.equal((await run(['types', '--out', out])).code, 0);
  utimesSync(out, 1, 1);
  const again = await run(['types', '--out', out]);
  assert.deepEqual([again.code, statSync(out).mtimeMs], [0, 1_000], 'a file that is the same is not written');
  assert.equal(readFileSync(out, 'utf8'), (await run(['types'])).stdout);
  assert.equal((await run(['types', '--out', out, '--check'])).code, 0);
  await service.request('/api/collections', {
    method: 'POST',
    token: true,
    body: { name: 'aa', fields: [] },
  });
  const stale = await run(['types', '--out', out, '--check']);
  assert.deepEqual([stale.code, stale.stdout], [1, '']);
  assert.match(stale.stderr, /^chancery: .*types\.ts is not what the collections are now: write it again/);
  assert.equal((await run(['types', '--check'])).code, 64);
  writeFileSync(out, 'mine');
  assert.equal((await run(['types', '--out', out])).code, 0);
  assert.match(readFileSync(out, 'utf8'), /interface AaRecord/);
});

test('two names that would be the same type are kept apart, and collections of the service are left out', async (t) => {
  const service = await startBlog(t);
  const { stdout } = await remoteRun(service)(['types']);
  const names = [...stdout.matchAll(/^export interface (\w+Record) /gm)].map(([, name]) => name);
  assert.deepEqual(names, ['BlogPostsRecord', 'BlogPosts2Record', 'CoversRecord', 'UsersRecord']);
  assert.match(stdout, /collection\(idOrName: "blogPosts"\): TypedRecordService<BlogPostsRecord,/);
});

/** The names of the fields that the types have for a collection. */
function fieldsIn(types: string, collection: string): readonly string[] {
  const [, members = ''] =
    new RegExp(`of a record of ${collection}\\. \\*/\n[^\n]+\n(.*?)^}`, 'ms').exec(types) ?? [];
  return [...members.matchAll(/^ {2}(\w+): /gm)].map(([, name = '']) => name).toSorted();
}

/** Compiles what is in a folder as strictly as a user may. */
function assertCompiles(folder: string): void {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    module: 'nodenext',
    target: 'es2024',
    lib: ['es2024', 'dom'],
    types: [],
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    verbatimModuleSyntax: true,
    allowImportingTsExtensions: true,
  };
  writeTree(folder, {
    'package.json': '{ "type": "module" }',
    'tsconfig.json': JSON.stringify({ compilerOptions, files: ['program.ts'] }),
  });
  const modules = join(folder, 'node_modules');
  if (!existsSync(modules)) symlinkSync(join(root, 'node_modules'), modules);
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const compiled = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' });
  assert.equal(compiled.status, 0, compiled.stdout + compiled.stderr);
}
