// Both engines: a search is SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operator } from '../../src/access/caller.ts';
import { ruleInputOfCaller } from '../../src/access/rule-input.ts';
import { searchRecords } from '../../src/records/search-records.ts';
import { sql } from '../../src/sql/sql.ts';
import { makeKey } from '../support/make-key.ts';
import { startService, type TestService } from '../support/service.ts';
import { type Json, listOf } from '../support/webhook-service.ts';

async function post(service: TestService, path: string, body: object): Promise<string> {
  const answer = await service.request(`/api/collections${path}`, { method: 'POST', token: true, body });
  assert.ok(answer.status < 300, answer.text);
  return answer.json.id;
}

const text = (name: string, options: object = {}) => ({ name, type: 'text', ...options });

async function fill(service: TestService): Promise<string> {
  await post(service, '', {
    name: 'orders',
    listRule: 'state = "open"',
    indexes: ['CREATE INDEX orders_number ON orders (number)'],
    fields: [
      text('number'),
      text('note'),
      text('state'),
      text('secret', { hidden: true, presentable: true }),
    ],
  });
  await post(service, '', { name: 'notes', listRule: '', fields: [text('title'), text('more')] });
  await post(service, '', { name: 'locked', fields: [text('title')] });
  await post(service, '/notes/records', { title: 'About 4711', more: 'unsearched' });
  await post(service, '/locked/records', { title: '4711 locked' });
  await post(service, '/orders/records', { number: '4711', state: 'closed', secret: 'hush' });
  return post(service, '/orders/records', { number: '4711', note: 'a note', state: 'open', secret: 'hush' });
}

async function find(service: TestService, words: string, token?: string | true) {
  const answer = await service.request(
    `/api/search?text=${encodeURIComponent(words)}`,
    token === undefined ? {} : { token },
  );
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function searchWithin(
  service: TestService,
  options: Omit<Parameters<typeof searchRecords>[2], 'memory'>,
): Promise<Json> {
  const memory = { admit: () => Promise.resolve(), extend: () => undefined };
  return service.withInstance('default', async (instance) =>
    JSON.parse(await searchRecords(instance, ruleInputOfCaller(operator), { ...options, memory })),
  );
}

function names(items: unknown): readonly unknown[] {
  return listOf(items).map(({ collectionName }) => collectionName);
}

test('one search finds records of all collections by an id, an indexed value and a part of a text', async (t) => {
  const service = await startService(t);
  const id = await fill(service);
  const { items, ...bounds } = await find(service, '4711', true);
  assert.deepEqual(names(items), ['orders', 'orders', 'locked', 'notes']);
  assert.deepEqual(bounds, { collections: 4, searched: 4, skipped: 0, recordsMax: 50_000 });
  const [newest] = listOf(items);
  assert.deepEqual(
    [newest?.['id'], newest?.['number'], newest?.['secret'], newest?.['note']],
    [id, '4711', 'hush', undefined],
  );
  assert.deepEqual(names((await find(service, id, true)).items), ['orders']);
  assert.deepEqual(names((await find(service, 'ABOUT', true)).items), ['notes']);
  assert.deepEqual(names((await find(service, 'unsearched', true)).items), []);
  for (const odd of [`it's "so"`, '\\', String.raw`\\'`, '%%', 'a\u0001b', '(', '日本'])
    await find(service, `${odd}x`, true);
});

test('a search shows each caller what the lists of records would', async (t) => {
  const service = await startService(t);
  await fill(service);
  const { items, collections } = await find(service, '4711');
  assert.deepEqual(names(items), ['orders', 'notes']);
  assert.equal(collections, 3);
  assert.equal(listOf(items)[0]?.['secret'], undefined);
  assert.deepEqual(names((await find(service, 'hush')).items), []);
  assert.deepEqual(names((await find(service, 'hush', true)).items), ['orders', 'orders']);
  const { key } = await makeKey(service, ['records:read'], { collections: ['notes'] });
  assert.deepEqual(names((await find(service, '4711', key)).items), ['notes']);
});

test('a search looks at a bounded number of records and collections, and says at how many', async (t) => {
  const service = await startService(t);
  await fill(service);
  for (const words of ['', 'x', 'x'.repeat(101)])
    assert.equal((await service.request(`/api/search?text=${words}`, { token: true })).status, 400);
  const rows = Array.from({ length: 500 }, (_, at) => ({
    method: 'POST',
    url: '/api/collections/notes/records',
    body: { title: `row ${at}` },
  }));
  for (let at = 0; at < rows.length; at += 50)
    await service.request('/api/batch', {
      method: 'POST',
      token: true,
      body: { requests: rows.slice(at, at + 50) },
    });
  const recordsInAllMax = 1;
  // The oldest record is behind 500 newer ones.
  assert.deepEqual(names((await searchWithin(service, { text: 'About', recordsInAllMax })).items), []);
  const { items, recordsMax } = await searchWithin(service, { text: 'row', recordsInAllMax });
  assert.deepEqual([listOf(items).length, recordsMax], [5, 500]);
});

test('a search skips the collections for which it has no time, and ends when its client leaves', async (t) => {
  const service = await startService(t);
  await fill(service);
  const late = await searchWithin(service, { text: '4711', totalMsMax: 0 });
  assert.deepEqual(late, { items: [], collections: 4, searched: 0, skipped: 4, recordsMax: 50_000 });
  const left = await searchWithin(service, { text: '4711', signal: AbortSignal.abort() });
  assert.deepEqual([left.items, left.searched, left.skipped], [[], 0, 0]);
});

test('a search skips a collection whose rule is slow, and shows what it has found in the others', async (t) => {
  const service = await startService(t, { flags: { 'query-timeout': '1' } });
  await fill(service);
  await service.withInstance('default', async ({ database }) => {
    const numbers = sql`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000)`;
    await database.write((tx) =>
      tx.run(sql`INSERT INTO ${database.names.collectionTable('notes')} (id, title, "$revision")
        ${numbers} SELECT 'row' || n, 'row ' || n, 1 FROM n`),
    );
  });
  // Each row is compared with all others.
  const listRule = "@collection.notes.title ?~ 'none' || @collection.notes:other.title ~ title";
  const changed = await service.request('/api/collections/notes', {
    method: 'PATCH',
    token: true,
    body: { listRule },
  });
  assert.equal(changed.status, 200, changed.text);
  const { items, collections, searched, skipped } = await find(service, '4711');
  assert.ok(skipped >= 1, 'the slow collection is skipped');
  assert.equal(searched + skipped, collections);
  assert.ok(!names(items).includes('notes'));
});
