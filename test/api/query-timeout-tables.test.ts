// Both engines: each ends statements in its own way.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { identifier, joinSql, sql } from '../../src/sql/sql.ts';
import type { Database } from '../../src/storage/database.ts';
import type { InternalTable } from '../../src/storage/internal-table.ts';
import { startService, type TestService } from '../support/service.ts';

const rowsMax = 2_000;

/** Repeats a row of a table, under other ids. */
async function repeatRow(database: Database, name: InternalTable): Promise<void> {
  const { names } = database;
  const table = names.table(name);
  const row = await database.get(sql`SELECT * FROM ${table} WHERE ${names.instance.condition}`);
  assert.ok(row, `${name} has a row`);
  const columns = Object.keys(row).filter((column) => column !== 'position');
  const values = columns.map((column) =>
    column === 'id'
      ? sql`id || '-' || n`
      : column === 'event'
        ? sql`event + n`
        : column === 'hash'
          ? sql`hash || n`
          : identifier(column),
  );
  const key = 'id' in row ? 'id' : 'event';
  const numbers = sql`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${rowsMax})`;
  await database.write((tx) =>
    tx.run(sql`INSERT INTO ${table} (${joinSql(columns.map(identifier), ', ')})
      ${numbers} SELECT ${joinSql(values, ', ')} FROM ${table}, n WHERE ${names.instance.condition} AND ${identifier(key)} = ${row[key] ?? null}`),
  );
}

/** Makes a delivery that is over, a key, audited requests, and many more of each. */
async function fill(service: TestService): Promise<void> {
  const post = async (path: string, body: object): Promise<void> => {
    const made = await service.request(path, { method: 'POST', token: true, body });
    assert.ok(made.status < 300, made.text);
  };
  await post('/api/collections', { name: 'posts' });
  await post('/api/webhooks/endpoints', { url: 'http://127.0.0.1:9/' });
  await post('/api/records/posts', {});
  await post('/api/keys', { name: 'key', scopes: ['webhooks:read'] });
  await service.withInstance('default', async ({ database }) => {
    for (const name of ['$event', '$delivery', '$api_key', '$audit'] as const)
      await repeatRow(database, name);
  });
}

test('A15 lists of deliveries, events, keys and audited requests are ended in time', async (t) => {
  const service = await startService(t);
  await fill(service);
  await service.stop();
  // No machine makes so many comparisons in a millisecond. No id has a #, or a page would be full with the first rows.
  const hurried = await startService(t, { data: service.data, flags: { 'query-timeout': '0.001' } });
  const filter = Array.from({ length: 200 }, () => "id~'%a%#'").join('||');
  for (const path of ['webhooks/deliveries', 'webhooks/events', 'keys', 'audit']) {
    const url = `/api/${path}?skipTotal=1&filter=${encodeURIComponent(filter)}`;
    const slow = await hurried.request(url, { token: true });
    assert.deepEqual(
      [slow.status, slow.json.message, slow.headers.get('retry-after')],
      [503, 'The query took too long.', '1'],
      path,
    );
  }
  // The search for secrets at the end of a test would take longer, too.
  await hurried.stop();
});

test('A15 a look through related records is ended in time, also if none of them belongs to a record', async (t) => {
  const service = await startService(t);
  const make = async (body: object): Promise<string> => {
    const made = await service.request('/api/collections', { method: 'POST', token: true, body });
    assert.equal(made.status, 200, made.text);
    return String(made.json.id);
  };
  const collectionId = await make({ name: 'posts' });
  const fields = [
    { name: 'post', type: 'relation', collectionId },
    { name: 'note', type: 'text' },
  ];
  await make({ name: 'comments', fields });
  await service.request('/api/records/posts', { method: 'POST', token: true, body: {} });
  await service.withInstance('default', async ({ database }) => {
    const table = database.names.collectionTable('comments');
    const numbers = sql`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${20 * rowsMax})`;
    await database.write((tx) =>
      tx.run(sql`INSERT INTO ${table} (id, post, note, created, updated, "$revision")
        ${numbers} SELECT 'comment' || n, 'other', 'some', '', '', 1 FROM n`),
    );
  });
  await service.stop();
  // No machine reads so many rows in a millisecond.
  const hurried = await startService(t, { data: service.data, flags: { 'query-timeout': '0.001' } });
  const filter = encodeURIComponent("comments_via_post.note > 'none'");
  const slow = await hurried.request(`/api/records/posts?filter=${filter}`, { token: true });
  assert.deepEqual([slow.status, slow.json.message], [503, 'The query took too long.']);
  await hurried.stop();
});

test('A15 a page far behind the first one is ended in time', async (t) => {
  const service = await startService(t);
  await service.request('/api/collections', { method: 'POST', token: true, body: { name: 'posts' } });
  await service.withInstance('default', async ({ database }) => {
    const table = database.names.collectionTable('posts');
    const numbers = sql`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${100 * rowsMax})`;
    await database.write((tx) =>
      tx.run(sql`INSERT INTO ${table} (id, created, updated, "$revision")
        ${numbers} SELECT 'post' || n, '', '', 1 FROM n`),
    );
  });
  await service.stop();
  // No machine passes over so many rows in a millisecond.
  const hurried = await startService(t, { data: service.data, flags: { 'query-timeout': '0.001' } });
  const path = `/api/records/posts?skipTotal=1&perPage=1&page=${100 * rowsMax}`;
  const slow = await hurried.request(path, { token: true });
  assert.deepEqual([slow.status, slow.json.message], [503, 'The query took too long.']);
  await hurried.stop();
});
