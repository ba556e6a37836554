// Both engines: JSON of records is written by SQL of each.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startService, type TestService } from '../support/service.ts';

const at = '/api/collections/things/records';

const fields = [
  { name: 'text', type: 'text' },
  { name: 'short', type: 'text', max: 9 },
  { name: 'n', type: 'number' },
  { name: 'whole', type: 'number', onlyInt: true },
  { name: 'yes', type: 'bool' },
  { name: 'mail', type: 'email' },
  { name: 'link', type: 'url' },
  { name: 'page', type: 'editor' },
  { name: 'when', type: 'date' },
  { name: 'one', type: 'select', values: ['a', 'b"', "c'"], maxSelect: 1 },
  { name: 'some', type: 'select', values: ['a', 'b"', "c'"], maxSelect: 3 },
  { name: 'any', type: 'json' },
  { name: 'place', type: 'geoPoint' },
  { name: 'word', type: 'password' },
  { name: 'hidden', type: 'text', hidden: true },
];

/** Everything that JSON escapes, or that something on the way could take for the end of a text. */
const texts = [
  '',
  Array.from({ length: 0x1f }, (_, index) => String.fromCodePoint(index + 1)).join(''),
  '"\\/\'`$1%s?;--/**/\u007f\u0080\u2028\u2029\ufeff\ufffd',
  'ä€😀𝄞 e\u0301 \u200f',
  '{"id":1},[]',
  'x'.repeat(4_000),
];

const numbers = [
  0,
  -0,
  1,
  -1,
  0.1,
  0.1 + 0.2,
  1 / 3,
  1e-4,
  9.99e-5,
  1.5e-5,
  1e-6,
  9.99e-7,
  1e-7,
  -1.25e-10,
  1e-100,
  123456.789,
  123456789012.345,
  999999999999999.9,
  1e15,
  1234567890123456.5,
  123456789012345680,
  5e-324,
  1.7976931348623157e308,
  2 ** 53 - 1,
  -(2 ** 53 - 1),
  1e16,
  2 ** 60,
  1e20,
  1e21,
  -1e21,
  1.5e300,
  // In the middle between two numbers, as short decimals of 1 to 16 digits.
  1e23,
  -1e23,
  8.41e21,
  -1.000000000000008e18,
  807968122401432000,
  4.35,
  8.5,
  -2.5,
];

const values = [
  ...texts.map((text) => ({ text, any: text, page: text, hidden: text })),
  // As text: a literal of more than 2^53 is refused, a number of that size is not.
  ...numbers.map((n) => ({ n: n.toExponential(17), whole: Math.abs(n) < 2 ** 53 ? Math.trunc(n) : 0 })),
  { yes: true, mail: "o'neil+x@example.com", link: 'https://example.com/?a=b&c=%22', when: '2026-01-02' },
  { one: 'b"', some: ["c'", 'b"'], place: { lon: -0.5, lat: 1e-7 }, word: 'secret-word' },
  { any: null },
  { any: '' },
  { any: [{ a: { b: [null, true, 'x', '\u0001'] } }] },
];

async function setUp(t: TestContext): Promise<TestService> {
  const service = await startService(t);
  const rules = { listRule: '', viewRule: '', createRule: '' };
  const body = { name: 'things', ...rules, fields };
  assert.equal(
    (await service.request('/api/collections', { method: 'POST', token: true, body })).status,
    200,
  );
  for (const record of values) {
    const { status, json } = await service.request(at, { method: 'POST', token: true, body: record });
    assert.equal(status, 201, JSON.stringify([record, json]));
  }
  return service;
}

for (const who of ['guests', 'superusers'] as const) {
  const options = who === 'superusers' ? ({ token: true } as const) : {};
  test(`${who} find in a list, byte for byte, what they find by the records' ids`, async (t) => {
    const service = await setUp(t);
    const list = await service.request(`${at}?perPage=500&sort=-@rowid`, options);
    const items: readonly { readonly id: string }[] = list.json.items;
    const ids = items.map(({ id }) => id);
    assert.equal(ids.length, values.length);
    const views = [];
    for (const id of ids) views.push((await service.request(`${at}/${id}`, options)).text);
    const envelope = `"page":1,"perPage":500,"totalItems":${ids.length},"totalPages":1}`;
    assert.equal(list.text, `{"items":[${views.join(',')}],${envelope}`);
    const told = [...list.text.matchAll(/"n":([^,}]*)/g)].map(([, text]) => text);
    const expected = values.map((value) => JSON.stringify('n' in value ? Number(value.n) : 0));
    // The newest are first.
    assert.deepEqual(told, expected.toReversed());
    assert.equal(list.text.includes('"hidden"'), who === 'superusers');
    assert.equal(list.text.includes('secret-word'), false);
  });
}

test('a page of nothing, one that ends with the list, and one behind it are told apart', async (t) => {
  const service = await setUp(t);
  const count = values.length;
  for (const [query, length, totalItems] of [
    ['filter=id="none"', 0, 0],
    [`perPage=${count}`, count, count],
    [`perPage=${count}&page=2`, 0, count],
    [`perPage=${count - 1}&page=2`, 1, count],
    [`perPage=${count}&page=2&skipTotal=1`, 0, -1],
  ] as const) {
    const { json } = await service.request(`${at}?${query}`);
    assert.deepEqual([json.items.length, json.totalItems], [length, totalItems], query);
  }
});

test('a list says how long it is, and a HEAD of it the same', async (t) => {
  const service = await setUp(t);
  const list = await service.request(at);
  const head = await service.request(at, { method: 'HEAD' });
  assert.equal(Number(list.headers.get('content-length')), Buffer.byteLength(list.text));
  assert.equal(head.headers.get('content-length'), list.headers.get('content-length'));
});

test('a collection of 500 fields is listed', async (t) => {
  const service = await startService(t);
  const many = Array.from({ length: 495 }, (_, index) => ({ name: `field_${index}`, type: 'text' }));
  const body = { name: 'wide', listRule: '', createRule: '', fields: many };
  assert.equal(
    (await service.request('/api/collections', { method: 'POST', token: true, body })).status,
    200,
  );
  const wide = '/api/collections/wide/records';
  assert.equal((await service.request(wide, { method: 'POST', body: { field_494: 'last' } })).status, 201);
  assert.equal((await service.request(wide)).json.items[0].field_494, 'last');
});
