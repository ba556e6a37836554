// Both engines: an import writes tables.
import assert from 'node:assert/strict';
import { createCipheriv, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { signToken } from '../../src/secrets/token.ts';
import { sql } from '../../src/sql/sql.ts';
import { importInto, storageOf } from '../support/import-into.ts';
import { ann, blogPosts, makeBlogDirectory, password } from '../support/pocketbase-blog.ts';
import {
  makePocketbaseDirectory,
  sourceAccounts,
  sourceAuthOptions,
  tokenKeyOf,
} from '../support/pocketbase-directory.ts';
import { startService, type TestService } from '../support/service.ts';

const created = '2024-03-04 05:06:07.890Z';
const updated = '2024-03-05 05:06:07.890Z';

test('records come with their ids, times and values, in the order in which they were made', async (t) => {
  const service = await startService(t);
  const summary = await importInto(service, makeBlogDirectory(t));
  assert.deepEqual(
    summary.collections.map(({ name, rows, records, files }) => [name, rows, records, files]),
    [
      ['users', 2, 2, 0],
      ['_superusers', 1, 1, 0],
      ['posts', 2, 2, 1],
      ['_externalAuths', 1, 1, 0],
    ],
  );
  assert.deepEqual(summary.omissions, []);
  const { json } = await service.request('/api/collections/posts/records', { token: true });
  const audit = await service.request(`/api/audit?filter=${encodeURIComponent("action = 'import'")}`, {
    token: true,
  });
  assert.deepEqual([audit.json.totalItems, audit.json.items[0]?.['actor']], [1, 'operator']);
  const empty = { views: 0, isDraft: false, tags: [], state: '', author: '', related: [], cover: '' };
  const common = { collectionId: 'pbc_1125843985', collectionName: 'posts', created, updated };
  assert.deepEqual(json.items, [
    {
      ...common,
      ...empty,
      id: 'post00000000002',
      title: 'Second',
      related: ['post00000000001'],
      data: null,
      place: { lon: 0, lat: 0 },
      due: '2024-05-06 07:08:09.012Z',
    },
    {
      ...common,
      id: 'post00000000001',
      title: 'First',
      views: 12,
      isDraft: true,
      tags: ['a', 'c'],
      state: 'open',
      author: 'annaannaannaann',
      related: [],
      cover: 'cover_abc.png',
      data: { b: 1, a: [1, 'é'] },
      place: { lon: 12.5, lat: 41.9 },
      due: '',
    },
  ]);
  const linked = await service.request('/api/collections/_externalAuths/records', { token: true });
  assert.deepEqual(
    [linked.json.items[0].id, linked.json.items[0].providerId, linked.json.items[0].created],
    ['link00000000001', '42', created],
  );
});

test('collections come with their ids, rules, indexes, options and times', async (t) => {
  const service = await startService(t);
  await importInto(service, makeBlogDirectory(t));
  const { json } = await service.request('/api/collections/posts', { token: true });
  assert.deepEqual(
    [json.id, json.created, json.updated],
    ['pbc_1125843985', '2024-01-02 03:04:05.678Z', '2024-02-03 04:05:06.789Z'],
  );
  assert.equal(json.listRule, blogPosts.more?.['listRule']);
  assert.equal(json.createRule, null);
  assert.equal(json.updateRule, blogPosts.more?.['updateRule']);
  assert.deepEqual(json.indexes, blogPosts.indexes);
  const fields: readonly { readonly id: string; readonly name: string }[] = json.fields;
  assert.deepEqual(
    fields.map(({ id, name }) => [id, name]),
    blogPosts.fields.map(({ id, name }) => [id, name]),
  );
  const twin = await create(service, 'posts', { title: 'First' });
  assert.equal(twin.json.data.title.code, 'validation_not_unique');
  const guest = await service.request('/api/collections/posts/records');
  assert.deepEqual(ids(guest.json.items), ['post00000000002']);
  const users = await service.request('/api/collections/users', { token: true });
  assert.equal(users.json.authToken.duration, 604_800);
  assert.ok(!users.text.includes('users authToken'), 'secrets are not shown');
});

test('tokens of before the import go on working, and nobody else is let in', async (t) => {
  const service = await startService(t);
  await importInto(service, makeBlogDirectory(t));
  const token = tokenOf('users', 'annaannaannaann');
  const refreshed = await service.request('/api/collections/users/auth-refresh', { method: 'POST', token });
  assert.equal(refreshed.status, 200, refreshed.text);
  assert.equal(refreshed.json.record.email, 'ann@example.com');
  const list = await service.request('/api/collections/posts/records', { token });
  assert.equal(list.json.totalItems, 2);
  const admin = await service.request('/api/collections', {
    token: tokenOf('_superusers', 'superusersuperu'),
  });
  assert.equal(admin.status, 200);
  const forged = signToken(
    claims('users', 'annaannaannaann'),
    `${tokenKeyOf('benbenbenbenben')}${secretOf('users')}`,
  );
  const refused = await service.request('/api/collections/users/auth-refresh', {
    method: 'POST',
    token: forged,
  });
  assert.equal(refused.status, 401);
});

test('passwords are those of before, of users and superusers, and who was a superuser here stays one', async (t) => {
  const service = await startService(t);
  await importInto(service, makeBlogDirectory(t));
  assert.equal((await signIn(service, 'users', 'ann@example.com', password)).status, 200);
  assert.equal((await signIn(service, 'users', 'ann@example.com', 'wrong horse')).status, 400);
  assert.equal((await signIn(service, '_superusers', 'super@example.com', password)).status, 200);
  const { email, password: own } = service.superuser;
  assert.equal((await signIn(service, '_superusers', email, own)).status, 200);
});

test('an import tells nobody of anything', async (t) => {
  const service = await startService(t);
  const endpoint = { url: 'http://127.0.0.1:9/' };
  const made = await service.request('/api/webhooks/endpoints', {
    method: 'POST',
    token: true,
    body: endpoint,
  });
  assert.equal(made.status, 201, made.text);
  await importInto(service, makeBlogDirectory(t));
  const counts = await service.withInstance('default', async ({ database }) => {
    const { names } = database;
    const count = async (table: '$event' | '$delivery') =>
      (
        await database.get(
          sql`SELECT count(*) AS n FROM ${names.table(table)} WHERE ${names.instance.condition}`,
        )
      )?.['n'];
    return [await count('$event'), await count('$delivery')];
  });
  assert.deepEqual(counts, [0, 0]);
  // What is made afterwards is told of, as ever.
  assert.equal((await create(service, 'posts', { title: 'Third' })).status, 201);
});

test('settings come along, their secrets sealed', async (t) => {
  const service = await startService(t);
  await importInto(service, makeBlogDirectory(t));
  const { json } = await service.request('/api/settings', { token: true });
  assert.equal(json.meta.appName, 'Blog');
  assert.equal(json.meta.senderName, 'Support', 'what the source does not say stays');
  await service.withInstance('default', async ({ settings, database }) => {
    assert.equal(settings.current.smtp.password, 'secret');
    const { names } = database;
    const stored = await database.all(
      sql`SELECT value FROM ${names.table('$instance_setting')} WHERE ${names.instance.condition}`,
    );
    assert.ok(!JSON.stringify(stored).includes('"secret"'));
  });
});

test('encrypted settings are opened with their key', async (t) => {
  const key = '0123456789abcdef0123456789abcdef';
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const sealed = [nonce, cipher.update('{"meta":{"appName":"Sealed"}}'), cipher.final(), cipher.getAuthTag()];
  const settings = Buffer.concat(sealed).toString('base64');
  const directory = makePocketbaseDirectory(t, { tables: sourceAccounts([ann]), settings });
  const service = await startService(t);
  await assert.rejects(importInto(service, directory), /are encrypted: give its key/);
  await assert.rejects(
    importInto(service, directory, { encryptionKey: key.toUpperCase() }),
    /cannot be decrypted/,
  );
  await assert.rejects(importInto(service, directory, { encryptionKey: 'short' }), /cannot be decrypted/);
  await importInto(service, directory, { encryptionKey: key });
  const { json } = await service.request('/api/settings', { token: true });
  assert.equal(json.meta.appName, 'Sealed');
});

test('files that records name are copied, with what is said of them', async (t) => {
  const service = await startService(t);
  const storage = await service.withInstance('default', async ({ id }) => storageOf(service, id));
  const folder = join(storage, 'pbc_1125843985', 'post00000000001');
  // What a run leaves that is killed while it copies.
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, '.importing'), 'much longer than the picture is');
  await importInto(service, makeBlogDirectory(t));
  assert.deepEqual(readdirSync(folder).toSorted(), ['cover_abc.png', 'cover_abc.png.attrs']);
  assert.equal(readFileSync(join(folder, 'cover_abc.png'), 'utf8'), 'picture');
  assert.equal(statSync(join(folder, 'cover_abc.png')).mode & 0o777, 0o600);
});

test('the source is left as it is, with or without a log beside it', async (t) => {
  const directory = makeBlogDirectory(t);
  const before = contentOf(directory);
  const service = await startService(t);
  await importInto(service, directory, { isDryRun: true });
  assert.deepEqual(contentOf(directory), before);
  const open = new DatabaseSync(join(directory, 'data.db'));
  t.after(() => open.isOpen && open.close());
  open.exec(`INSERT INTO posts (id, title) VALUES ('post00000000003', 'In the log')`);
  const withLog = contentOf(directory);
  assert.ok(withLog.some((line) => line.startsWith('data.db-wal ')));
  const summary = await importInto(service, directory);
  assert.equal(summary.collections.find(({ name }) => name === 'posts')?.records, 3);
  assert.deepEqual(contentOf(directory), withLog);
  open.close();
});

function create(service: TestService, collection: string, body: object) {
  return service.request(`/api/collections/${collection}/records`, { method: 'POST', token: true, body });
}

function signIn(service: TestService, ...[collection, identity, secret]: readonly string[]) {
  const path = `/api/collections/${collection}/auth-with-password`;
  return service.request(path, { method: 'POST', body: { identity, password: secret } });
}

function ids(items: readonly { readonly id: string }[]): readonly string[] {
  return items.map(({ id }) => id);
}

function secretOf(collection: string): string {
  const options = sourceAuthOptions(collection)['authToken'];
  // Made by sourceAuthOptions.
  return (options as { readonly secret: string }).secret;
}

function claims(collection: string, id: string) {
  const collectionId = collection === 'users' ? '_pb_users_auth_' : 'pbc_3142635823';
  return { id, collectionId, type: 'auth', refreshable: true, exp: Math.floor(Date.now() / 1000) + 600 };
}

/** As the source would have signed it. */
function tokenOf(collection: string, id: string): string {
  return signToken(claims(collection, id), `${tokenKeyOf(id)}${secretOf(collection)}`);
}

/** Names, sizes and times of everything but SQLite's own index of a log that is open. */
function contentOf(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => !path.endsWith('-shm'))
    .map((path) => {
      const { size, mtimeMs } = statSync(join(directory, path));
      return `${path} ${size} ${mtimeMs}`;
    })
    .toSorted();
}
