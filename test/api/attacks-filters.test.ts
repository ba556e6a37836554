// Both engines: filters compile to SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from '../support/service.ts';

const types: Readonly<Record<string, object>> = {
  title: { type: 'text' },
  count: { type: 'number' },
  flag: { type: 'bool' },
  mail: { type: 'email' },
  day: { type: 'date' },
  pick: { type: 'select', values: ['a', 'b'] },
  picks: { type: 'select', values: ['a', 'b'], maxSelect: 2 },
  data: { type: 'json' },
  place: { type: 'geoPoint' },
  file: { type: 'file', maxSelect: 3 },
};
const operands = [
  ...Object.keys(types),
  'data.a.0', 'data.99999999999999999999', 'place.lon', 'picks:each', 'picks:length', 'data:lower',
  '@now', "strftime('%s',count)", "strftime('%J',data)", 'geoDistance(place.lon,count,title,1)', 'null',
]; // prettier-ignore
// prettier-ignore
const values = [
  "''", 'null', 'true', '-0', '9007199254740991', `${'9'.repeat(200)}.5`, `0.${'0'.repeat(200)}1`, "'%'", "'%_%'",
  "'2026-02-30'", "'275760-09-13 00:00:00.000Z'", "'-1'", "'{}'", "'[1'", "'1e400'", "' 1'", "'NaN'",
]; // prettier-ignore

// prettier-ignore

test('Q-15 Q-16 Q-20 every field is compared with every value, or refused, and nothing fails', async (t) => {
  const service = await startService(t);
  const fields = Object.entries(types).map(([name, options]) => ({ name, ...options }));
  const definition = { name: 'posts', listRule: '', createRule: '', fields };
  await service.request('/api/collections', { method: 'POST', token: true, body: definition });
  for (const body of [
    {},
    { title: '10', count: 10, day: '2026-01-01', picks: ['a'], data: { a: [1] } },
    { data: '[' },
  ])
    assert.equal((await service.request('/api/records/posts', { method: 'POST', body })).status, 201);
  const statusOf = async (filter: string): Promise<number> => {
    const { status, text } = await service.request(`/api/records/posts?filter=${encodeURIComponent(filter)}`);
    assert.ok(status === 200 || status === 400, `${status} ${filter} ${text}`);
    return status;
  };
  let asked = 0;
  let compared = 0;
  for (const operand of operands)
    for (const operator of ['=', '!=', '~', '!~', '<', '?>=']) {
      await statusOf(`${operand} ${operator} ${operands[(asked += 1) % operands.length]}`);
      // All values together: what can be compared with a text can be compared with all of them.
      const wanted = await statusOf(`${operand} ${operator} 'x'`);
      if (wanted === 200) compared += 1;
      const filter = values.map((value) => `${operand} ${operator} ${value}`).join(' || ');
      assert.equal(await statusOf(filter), wanted, `${operand} ${operator}`);
    }
  assert.equal(compared, 110, 'of 126: most can be compared');
  assert.equal(await statusOf(`title = ${'9'.repeat(400)}`), 400);
  assert.deepEqual(
    service.log.filter(({ level }) => level === 'error'),
    [],
  );
});

test('Q-33 Q-35 a page beyond all records is empty, however far, and one beyond all numbers refused', async (t) => {
  const service = await startService(t);
  const definition = { name: 'posts', listRule: '', createRule: '' };
  await service.request('/api/collections', { method: 'POST', token: true, body: definition });
  await service.request('/api/records/posts', { method: 'POST', body: {} });
  for (const query of [
    'page=2147483647&perPage=1000',
    'page=2147483647&perPage=1000&filter=id!=""&sort=-created',
  ]) {
    const { json } = await service.request(`/api/records/posts?${query}`);
    assert.deepEqual([json.items, json.totalItems], [[], 1], query);
  }
  for (const page of ['2147483648', '1e18', '9223372036854775807', '0x10', '1.5'])
    assert.equal((await service.request(`/api/records/posts?page=${page}`)).status, 400, page);
});

test('Q-58 sort keys behind @rowid are checked like those before it', async (t) => {
  const service = await startService(t);
  const fields = [
    { name: 'title', type: 'text' },
    { name: 'secret', type: 'text', hidden: true },
    { name: 'data', type: 'json' },
  ];
  const definition = { name: 'posts', listRule: '', createRule: '', fields };
  await service.request('/api/collections', { method: 'POST', token: true, body: definition });
  await service.request('/api/collections/users', { method: 'PATCH', token: true, body: { listRule: '' } });
  for (const title of ['b', 'a'])
    await service.request('/api/records/posts', { method: 'POST', body: { title } });
  const listOf = (collection: string, sort: string) =>
    service.request(`/api/records/${collection}?sort=${encodeURIComponent(sort)}`);
  for (const [collection, name] of [
    ['users', 'tokenKey'],
    ['users', 'password'],
    ['posts', 'secret'],
    ['posts', 'unknown'],
    ['posts', '@now'],
  ] as const)
    for (const before of ['@rowid', '-@rowid', '@random,@rowid,id']) {
      const alone = await listOf(collection, name);
      const behind = await listOf(collection, `${before},-${name}`);
      assert.deepEqual([alone.status, behind.status], [400, 400], `${before},-${name}`);
      const [message = '']: readonly string[] = [behind.json.data.sort.message];
      assert.equal(message.replace(/\d+\.$/, '0.'), alone.json.data.sort.message);
    }
  for (const sort of ['-@rowid,title', '-@rowid,@random', '-@rowid,@rowid', '-@rowid,data']) {
    const { json } = await listOf('posts', sort);
    const items: readonly { readonly title: string }[] = json.items;
    assert.deepEqual(
      items.map(({ title }) => title),
      ['a', 'b'],
      sort,
    );
  }
});
