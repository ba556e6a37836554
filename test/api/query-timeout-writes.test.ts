// Both engines: each ends statements in its own way.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { startService, type TestService } from '../support/service.ts';
import { testEngine } from '../support/test-config.ts';

/** Enough rows that no machine goes through their pairs in the time that is given. */
const rowsMax = 20_000;
/** True of no record, but only a look at every pair tells. */
const slowRule = '@collection.words.note ?> @collection.words:other.word';

/** Makes a collection with many rows, which rules name, and `posts`, whose writes have slow rules. Returns the id of a post. */
async function makeSlow(service: TestService, rules: object): Promise<string> {
  const post = async (path: string, body: object): Promise<Record<string, string>> => {
    const made = await service.request(path, { method: 'POST', token: true, body });
    assert.ok(made.status < 300, made.text);
    return made.json;
  };
  const text = (name: string): object => ({ name, type: 'text' });
  await post('/api/collections', { name: 'words', fields: [text('note'), text('word')] });
  await service.withInstance('default', async ({ database }) => {
    const table = database.names.collectionTable('words');
    const numbers = sql`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${rowsMax})`;
    await database.write((tx) =>
      tx.run(sql`INSERT INTO ${table} (id, note, word, created, updated, "$revision")
        ${numbers} SELECT 'word' || n, 'note ' || n, 'word ' || n, '', '', 1 FROM n`),
    );
  });
  const fields = [text('title')];
  await post('/api/collections', { name: 'posts', listRule: '', viewRule: '', fields, ...rules });
  return String((await post('/api/records/posts', { title: 'first' }))['id']);
}

test('A15 Q-38 a write whose rule takes too long is ended and answered 503, and has changed nothing', async (t) => {
  const service = await startService(t, { flags: { 'query-timeout': '0.2' } });
  const rules = { createRule: slowRule, updateRule: slowRule, deleteRule: slowRule };
  const id = await makeSlow(service, rules);
  const events = (): Promise<unknown> =>
    service.withInstance('default', async ({ database }) => {
      const { names } = database;
      return database.tuples(
        sql`SELECT count(*) FROM ${names.table('$event')} WHERE ${names.instance.condition}`,
      );
    });
  const before = [await service.request('/api/records/posts'), await events()] as const;
  const path = '/api/records/posts';
  const body = { title: 'changed' };
  const batch = { requests: [{ method: 'PATCH', url: `/api/collections/posts/records/${id}`, body }] };
  for (const [method, url, sent] of [
    ['POST', path, body],
    ['PATCH', `${path}/${id}`, body],
    ['DELETE', `${path}/${id}`, undefined],
    ['POST', '/api/batch', batch],
  ] as const) {
    const slow = await service.request(url, { method, body: sent });
    assert.deepEqual(
      [slow.status, slow.json, slow.headers.get('retry-after')],
      [503, { data: {}, message: 'The query took too long.', status: 503 }, '1'],
      `${method} ${url}`,
    );
  }
  const now = [await service.request(path), await events()] as const;
  assert.deepEqual([now[0].json, now[1]], [before[0].json, before[1]]);
  const written = await service.request(`${path}/${id}`, { method: 'PATCH', token: true, body });
  assert.equal(written.status, 200);
});

test('A15 slow rules that use up the time of writes refuse neither quick rules nor superusers', async (t) => {
  const service = await startService(t, { flags: { 'query-timeout': '0.2' } });
  const id = await makeSlow(service, { createRule: slowRule });
  const fields = [{ name: 'title', type: 'text' }];
  const rules = {
    createRule: `title != '' && @collection.words.id ?= 'word1'`,
    updateRule: `title = 'by a guest'`,
  };
  const made = await service.request('/api/collections', {
    method: 'POST',
    token: true,
    body: { name: 'quick', fields, ...rules },
  });
  assert.equal(made.status, 200, made.text);
  const ask = async (path: string, body: object, options: object = {}): Promise<number> =>
    (await service.request(path, { method: 'POST', body, ...options })).status;
  const flood = async (): Promise<void> => {
    const slow = Array.from({ length: 10 }, () => ask('/api/records/posts', { title: 'slow' }));
    assert.deepEqual(new Set(await Promise.all(slow)), new Set([503]));
  };
  for (let turn = 0; turn < 3; turn += 1) {
    const flooded = flood();
    assert.equal(await ask('/api/records/quick', { title: 'by a guest' }), 201);
    assert.equal(await ask('/api/records/posts', { title: 'by a superuser' }, { token: true }), 201);
    const path = `/api/records/posts/${id}`;
    const changed = await service.request(path, { method: 'PATCH', token: true, body: { title: `${turn}` } });
    assert.equal(changed.status, 200, changed.text);
    await flooded;
  }
});

test('A15 forty writes with slow rules at once do not keep a view of another instance waiting', async (t) => {
  // On SQLite they run one after the other.
  const flags = { 'query-timeout': testEngine === 'postgres' ? '1' : '0.1' };
  const service = await startService(t, { flags });
  await makeSlow(service, { createRule: slowRule });
  await service.app.data.directory.create('other', null);
  const view = '/i/other/api/records/users/none';
  // Opens the instance, which takes many statements on PostgreSQL.
  assert.equal((await service.request(view)).status, 404);
  const ended: string[] = [];
  const ask = async (path: string, body?: object): Promise<number> => {
    const { status } = await service.request(path, body === undefined ? {} : { method: 'POST', body });
    ended.push(path);
    return status;
  };
  const slow = Array.from({ length: 40 }, () => ask('/api/records/posts', { title: 'slow' }));
  assert.equal(await ask(view), 404);
  assert.deepEqual(new Set(await Promise.all(slow)), new Set([503]));
  assert.ok(ended.indexOf(view) < 10, `${ended.indexOf(view)} slow writes ended before the view`);
});

test('A15 a delete that looks for too long for records that refer to the deleted one has deleted nothing', async (t) => {
  const service = await startService(t);
  const id = await makeSlow(service, {});
  const collectionId = String((await service.request('/api/collections/posts', { token: true })).json['id']);
  const relation = { name: 'posts', type: 'relation', collectionId, maxSelect: 2 };
  const body = { name: 'comments', fields: [relation] };
  const made = await service.request('/api/collections', { method: 'POST', token: true, body });
  assert.equal(made.status, 200, made.text);
  await service.withInstance('default', async ({ database }) => {
    const table = database.names.collectionTable('comments');
    const numbers = sql`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10 * ${rowsMax})`;
    await database.write((tx) =>
      tx.run(sql`INSERT INTO ${table} (id, posts, created, updated, "$revision")
        ${numbers} SELECT 'comment' || n, '["post"]', '', '', 1 FROM n`),
    );
  });
  await service.stop();
  // No machine reads so many rows in a millisecond.
  const hurried = await startService(t, { data: service.data, flags: { 'query-timeout': '0.001' } });
  const path = `/api/records/posts/${id}`;
  const slow = await hurried.request(path, { method: 'DELETE', token: true });
  assert.deepEqual([slow.status, slow.json.message], [503, 'The query took too long.']);
  await hurried.stop();
  const patient = await startService(t, { data: service.data });
  assert.equal((await patient.request(path)).status, 200);
  assert.equal((await patient.request(path, { method: 'DELETE', token: true })).status, 204);
});
