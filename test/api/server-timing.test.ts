import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startService, type TestService } from '../support/service.ts';

const at = '/api/collections/posts/records';

/** Posts with a writer each, and an index over two of their fields. */
async function setUp(t: TestContext): Promise<TestService> {
  const service = await startService(t);
  const rules = { listRule: '', createRule: '' };
  const make = async (body: object): Promise<void> => {
    const { status, text } = await service.request('/api/collections', { method: 'POST', token: true, body });
    assert.equal(status, 200, text);
  };
  await make({ name: 'writers', ...rules, fields: [{ name: 'name', type: 'text' }] });
  const writers = await service.request('/api/collections/writers', { token: true });
  await make({
    name: 'posts',
    ...rules,
    fields: [
      { name: 'kind', type: 'text' },
      { name: 'n', type: 'number' },
      { name: 'note', type: 'text' },
      { name: 'tags', type: 'json' },
      { name: 'writer', type: 'relation', collectionId: writers.json.id, maxSelect: 1 },
    ],
    indexes: ['CREATE INDEX idx_posts_kind ON posts (kind, n)'],
  });
  const writer = await service.request('/api/collections/writers/records', {
    method: 'POST',
    body: { name: 'w' },
  });
  for (let n = 0; n < 5; n += 1) {
    const body = { kind: `k${n % 2}`, n, writer: writer.json.id };
    assert.equal((await service.request(at, { method: 'POST', body })).status, 201);
  }
  return service;
}

test('superusers who ask are told whether an index leads to what a list shows, and only they', async (t) => {
  const service = await setUp(t);
  for (const [query, access] of [
    ['', 'index'],
    ['sort=-@rowid', 'index'],
    ['perPage=2&page=2', 'index'],
    ['filter=kind="k1"', 'index'],
    ['filter=kind="k1"&sort=-n', 'index'],
    ['filter=kind="k1"&fields=id', 'index'],
    ['filter=kind="k1"&sort=-created', 'index'],
    ['filter=id="none"', 'index'],
    ['sort=kind', 'index'],
    ['sort=-kind,-n', 'index'],
    ['filter=note="x"&sort=kind,n', 'scan'],
    ['cursor=&sort=kind', 'index'],
    ['filter=note="x"', 'scan'],
    ['filter=kind~"k"', 'scan'],
    ['filter=kind="k1"||note="x"', 'scan'],
    ['filter=tags.a=1', 'scan'],
    ['sort=note', 'scan'],
    ['sort=writer.name', 'scan'],
    ['filter=writer.name="w"', 'scan'],
    ['fields=id&sort=note', 'scan'],
  ] as const) {
    const plain = await service.request(`${at}?${query}`, { token: true });
    const list = await service.request(`${at}?${query}&explain=1`, { token: true });
    assert.equal(list.status, 200, list.text);
    assert.equal(list.headers.get('server-timing'), `query;desc="${access}"`, query);
    assert.equal(plain.headers.get('server-timing'), null);
    assert.deepEqual(list.json, plain.json);
    const guest = await service.request(`${at}?${query}&explain=1`);
    assert.equal(guest.headers.get('server-timing'), null);
    assert.deepEqual(guest.json.items.length, list.json.items.length);
  }
});

test('explain takes the words of booleans from superusers and means nothing to others', async (t) => {
  const service = await setUp(t);
  for (const [word, status, timing] of [
    ['true', 200, 'query;desc="index"'],
    ['F', 200, null],
    ['', 200, null],
    ['yes', 400, null],
  ] as const) {
    // Asked again, as repeated lists are answered from memory.
    for (let count = 0; count < 3; count += 1) {
      const list = await service.request(`${at}?explain=${word}`, { token: true });
      assert.deepEqual([list.status, list.headers.get('server-timing')], [status, timing], word);
      if (status === 400) assert.deepEqual(Object.keys(list.json.data), ['explain']);
      assert.equal((await service.request(`${at}?explain=${word}`)).status, 200);
    }
  }
});

test('a list that gets its index is told so at once', async (t) => {
  const service = await setUp(t);
  const ask = async (): Promise<string | null> =>
    (await service.request(`${at}?filter=note='x'&explain=1`, { token: true })).headers.get('server-timing');
  assert.equal(await ask(), 'query;desc="scan"');
  const indexes = ['CREATE INDEX idx_posts_note ON posts (note)'];
  await service.request('/api/collections/posts', { method: 'PATCH', token: true, body: { indexes } });
  assert.equal(await ask(), 'query;desc="index"');
});
