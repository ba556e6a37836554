import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { eventsOf } from '../support/events-of.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

const nodes = '/api/records/nodes';
const open = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
const tooLarge = { data: {}, message: 'The answer would be too large: ask for fewer records.', status: 400 };

interface Net {
  readonly service: TestService;
  readonly ids: readonly string[];
  /** As a guest: the first record with this many levels of what it leads to. */
  readonly expand: (levels: number, method?: string, body?: object) => Promise<TestAnswer>;
}

/** So many records, each of which leads to all of them. */
async function startNet(t: TestContext, count: number, data: unknown): Promise<Net> {
  const service = await startService(t);
  const collections = '/api/collections';
  const fields = [{ name: 'data', type: 'json' }];
  const made = await service.request(collections, {
    method: 'POST',
    token: true,
    body: { name: 'nodes', ...open, fields },
  });
  const to = { name: 'to', type: 'relation', collectionId: made.json.id, maxSelect: 999 };
  const body = { fields: [...made.json.fields, to] };
  const changed = await service.request(`${collections}/nodes`, { method: 'PATCH', token: true, body });
  assert.equal(changed.status, 200, changed.text);
  const ids = Array.from({ length: count }, (_, index) => `node${String(index).padStart(11, '0')}`);
  for (const id of ids)
    assert.equal((await service.request(nodes, { method: 'POST', body: { id, data } })).status, 201);
  for (const id of ids)
    assert.equal(
      (await service.request(`${nodes}/${id}`, { method: 'PATCH', body: { to: ids } })).status,
      200,
    );
  const expand: Net['expand'] = (levels, method = 'GET', change?) => {
    const path = Array.from({ length: levels }, () => 'to').join('.');
    return service.request(`${nodes}/${ids[0]}?expand=${path}`, { method, ...(change && { body: change }) });
  };
  return { service, ids, expand };
}

/** The status first: what was not refused is too large to be compared. */
function assertTooLarge(answer: TestAnswer, what = 'too much'): void {
  assert.equal(answer.status, 400, what);
  assert.deepEqual(answer.json, tooLarge, what);
}

test('Q-38 X-15 records that lead to each other are shown so often, and beyond that refused at once', async (t) => {
  const { service, ids, expand } = await startNet(t, 40, null);
  const shown = await expand(2);
  assert.equal(shown.text.match(/"collectionName"/g)?.length, 1 + 40 + 40 * 40);
  for (const levels of [3, 6]) assertTooLarge(await expand(levels), `${levels} levels`);
  const list = await service.request(`${nodes}?expand=to.to&perPage=40`);
  assertTooLarge(list, 'a page of 40 is 40 times as much');
  assert.equal((await service.request(`${nodes}?expand=to.to&perPage=10`)).status, 200);

  const first = String(ids[0]);
  const events = (await eventsOf(service, first)).length;
  assertTooLarge(await expand(6, 'PATCH', { data: 1 }));
  assert.equal((await service.request(`${nodes}/${first}`)).json.data, null, 'what is refused is not done');
  assert.equal((await eventsOf(service, first)).length, events);
});

test('X-15 large records are shown inside others as long as the answer can be borne', async (t) => {
  const { expand } = await startNet(t, 9, 'x'.repeat(900_000));
  assert.equal((await expand(1)).status, 200);
  assertTooLarge(await expand(2));
});

test('Q-38 of names to expand so many are followed, and the others left out as deeper ones are', async (t) => {
  const { service, ids } = await startNet(t, 1, null);
  const names = (count: number): string => Array.from({ length: count }, (_, index) => `n${index}`).join(',');
  const isExpanded = async (before: number): Promise<boolean> => {
    const answer = await service.request(`${nodes}/${ids[0]}?expand=${names(before)},to`);
    assert.equal(answer.status, 200);
    return answer.json.expand?.to?.length === 1;
  };
  assert.deepEqual([await isExpanded(63), await isExpanded(64)], [true, false]);
});

test('X-15 related records are read up to a number, shown or not', async (t) => {
  const { service, ids } = await startNet(t, 1, null);
  const [id = ''] = ids;
  const { json: collection } = await service.request('/api/collections/nodes', { token: true });
  const fields = ['a', 'b', 'c'].map((name) => ({ name, type: 'relation', collectionId: collection.id }));
  const body = { name: 'leaves', ...open, fields };
  const made = await service.request('/api/collections', { method: 'POST', token: true, body });
  assert.equal(made.status, 200, made.text);
  await service.withInstance('default', async ({ database }) => {
    const table = database.names.collectionTable('leaves');
    const numbers = sql`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000)`;
    await database.write((tx) =>
      tx.run(sql`INSERT INTO ${table} (id, a, b, c, created, updated, "$revision")
        ${numbers} SELECT 'leaf' || n, ${id}, ${id}, ${id}, '', '', 1 FROM n`),
    );
  });
  const related = await service.request(`${nodes}/${id}?expand=leaves_via_a,leaves_via_b`);
  assert.equal(related.json.expand.leaves_via_b.length, 1_000);
  const refused = await service.request(`${nodes}/${id}?expand=leaves_via_a,leaves_via_b,leaves_via_c`);
  assertTooLarge(refused);
});

test('X-15 a batch is not made when its answer would be too large, though each request would do alone', async (t) => {
  const { service, ids, expand } = await startNet(t, 8, 'x'.repeat(900_000));
  assert.equal((await expand(2)).status, 200);
  // Its size is to end it, on a slow machine too.
  const patient = { batch: { timeout: 10 } };
  assert.equal(
    (await service.request('/api/settings', { method: 'PATCH', token: true, body: patient })).status,
    200,
  );
  const create = { method: 'POST', url: `${nodes}?expand=to.to`, body: { to: ids } };
  const requests = Array.from({ length: 6 }, () => create);
  assertTooLarge(await service.request('/api/batch', { method: 'POST', body: { requests } }));
  assert.equal((await service.request(`${nodes}?perPage=1&fields=id`)).json.totalItems, ids.length);
});
