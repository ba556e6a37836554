// Both engines: each has its own types of columns.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { recordTable } from '../../src/records/record-table.ts';
import { sql } from '../../src/sql/sql.ts';
import { eventsOf } from '../support/events-of.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

type Ask = (method: string, path: string, body?: object) => Promise<TestAnswer>;

const records = '/posts/records';

/** A service with a collection `posts` of these fields, asked by its superuser. */
async function setUp(
  t: TestContext,
  fields: readonly object[],
): Promise<{ readonly service: TestService; readonly ask: Ask }> {
  const service = await startService(t);
  const ask: Ask = (method, path, body) =>
    service.request(`/api/collections${path}`, { method, token: true, ...(body && { body }) });
  const made = await ask('POST', '', { name: 'posts', fields });
  assert.equal(made.status, 200, made.text);
  return { service, ask };
}

async function idsOf(ask: Ask, query: string): Promise<readonly unknown[]> {
  const listed = await ask('GET', `${records}?${query}`);
  assert.equal(listed.status, 200, listed.text);
  const items: readonly Readonly<Record<string, unknown>>[] = listed.json.items;
  return items.map(({ id }) => id);
}

/** Section 9 of the contract, type by type: a definition, and what each value is answered as; a text in slashes is the code of its refusal. */
const contract: readonly (readonly [options: object, values: readonly (readonly [unknown, unknown])[]])[] = [
  [
    { type: 'text', min: 2, max: 3, pattern: '^[a-zé😀1]+$' },
    [[null, ''], ['', ''], [{}, '/validation_unsupported_value_type/'], [[], '/validation_unsupported_value_type/'], [true, '/validation_max_text_constraint/'], [11, '11'], ['a', '/validation_min_text_constraint/'], ['é😀a', 'é😀a'], ['abcd', '/validation_max_text_constraint/'], ['A!', '/validation_invalid_format/'], ['A!!!', '/validation_max_text_constraint/']],
  ],
  [{ type: 'text' }, [['x'.repeat(5000), 'x'.repeat(5000)], ['x'.repeat(5001), '/validation_max_text_constraint/'], [' a\r\n ', ' a\r\n ']]],
  [{ type: 'text', required: true, min: 2 }, [['', '/validation_required/'], [[], '/validation_unsupported_value_type/'], [false, 'false']]],
  [
    { type: 'number', min: -1, max: 10, onlyInt: true },
    [[null, 0], [false, 0], [true, 1], ['7', 7], [' 7 ', 7], [' ', 0], ['abc', '/validation_not_a_number/'], ['1,5', '/validation_not_a_number/'], ['0x10', '/validation_not_a_number/'], ['١٢', '/validation_not_a_number/'], [[1], '/validation_not_a_number/'], [{}, '/validation_not_a_number/'], [1.5, '/validation_only_int_constraint/'], [-2, '/validation_min_number_constraint/'], [11.5, '/validation_only_int_constraint/'], [11, '/validation_max_number_constraint/'], ['1e400', '/validation_not_a_number/'], ['NaN', '/validation_not_a_number/']],
  ],
  [{ type: 'number', required: true, min: 3 }, [[0, '/validation_required/'], ['', '/validation_required/'], ['x', '/validation_not_a_number/'], [2, '/validation_min_number_constraint/'], [1e21, 1e21], [3.25, 3.25]]],
  [{ type: 'bool' }, [['1', true], ['t', true], ['TRUE', true], ['f', false], ['', false], ['yes', '/validation_invalid_value/'], [2, true], [0, false], [null, false], [{}, '/validation_invalid_value/'], [[true], '/validation_invalid_value/']]],
  [{ type: 'bool', required: true }, [[false, '/validation_required/'], ['no', '/validation_invalid_value/'], [true, true]]],
  [{ type: 'email', onlyDomains: ['example.com'] }, [['', ''], ['a@example.com', 'a@example.com'], ['a@', '/validation_is_email/'], ['a@example.org', '/validation_email_domain_not_allowed/'], [5, '/validation_is_email/'], [['a@example.com'], '/validation_unsupported_value_type/']]],
  [{ type: 'url', exceptDomains: ['example.com'] }, [['', ''], ['https://example.org/a?b', 'https://example.org/a?b'], ['example.org', '/validation_invalid_url/'], ['http://example.com', '/validation_url_domain_not_allowed/']]],
  [{ type: 'editor', maxSize: 4 }, [[5, '5'], [null, ''], [['<b>'], '/validation_unsupported_value_type/'], ['<b>', '<b>'], ['<b>é', '/validation_content_size_limit/']]],
  [
    { type: 'date', min: '2020-01-01', max: '2030-01-01' },
    [['', ''], [null, ''], [1_700_000_000, '2023-11-14 22:13:20.000Z'], [1_700_000_000_000, '2023-11-14 22:13:20.000Z'], ['1700000000', '/validation_invalid_value/'], ['soon', '/validation_invalid_value/'], ['07.01.2024', '/validation_invalid_value/'], ['2024-1-7', '/validation_invalid_value/'], ['2026-02-30', '/validation_invalid_value/'], [['2026-02-03'], '/validation_invalid_value/'], [true, '/validation_invalid_value/'], ['2026-02-02T24:00:00Z', '2026-02-03 00:00:00.000Z'], ['0001-01-01T00:00:00Z', ''], ['2026-02-03', '2026-02-03 00:00:00.000Z'], ['2026-02-03T04:05:06', '2026-02-03 04:05:06.000Z'], ['2026-02-03 04:05:06.7+02:00', '2026-02-03 02:05:06.700Z'], ['Tue, 03 Feb 2026 04:05:06 -0130', '2026-02-03 05:35:06.000Z'], ['03 Feb 2026', '2026-02-03 00:00:00.000Z'], ['2019-12-31', '/validation_min_greater_equal_than_required/'], ['2030-01-02', '/validation_max_less_equal_than_required/']],
  ],
  [{ type: 'date', required: true }, [['', '/validation_required/'], ['soon', '/validation_invalid_value/']]],
  [{ type: 'select', values: ['a', 'b', '1'] }, [['', ''], ['a', 'a'], [['a', 'b'], 'b'], ['["b","a"]', 'a'], [1, '1'], ['c', '/validation_invalid_value/'], [{ id: 'a' }, '/validation_unsupported_value_type/']]],
  [{ type: 'select', values: ['a', 'b', 'c'], maxSelect: 2, required: true }, [[[], '/validation_required/'], ['a', ['a']], [['b', 'a', 'b', ''], ['b', 'a']], [['x', 'y', 'z'], '/validation_too_many_values/'], [['a', 'x'], '/validation_invalid_value/']]],
  [{ type: 'file' }, [['', ''], [[], ''], ['a.png', '/validation_invalid_file/']]],
  [{ type: 'file', required: true, maxSelect: 2 }, [[null, '/validation_required/'], [['a', 'b', 'c'], '/validation_invalid_file/']]],
  [{ type: 'json', maxSize: 10 }, [[null, null], ['', ''], ['null', null], ['true', true], ['-1.50', -1.5], ['nope', 'nope'], ['{"b": 1}', { b: 1 }], ['{bad', '{bad'], [[1, null], [1, null]], ['x'.repeat(9), '/validation_json_size_limit/'], ['1e999', '/validation_invalid_json/']]],
  [{ type: 'json', required: true }, [[null, '/validation_required/'], ['', '/validation_required/'], [[], '/validation_required/'], [{}, '/validation_required/'], [0, 0], [false, false]]],
  [{ type: 'geoPoint' }, [[null, { lon: 0, lat: 0 }], ['{"lat":1,"lon":2}', { lon: 2, lat: 1 }], [{ lat: -91, lon: 181 }, '/validation_invalid_latitude/'], [{ lon: 181 }, '/validation_invalid_longitude/']]],
  [{ type: 'geoPoint', required: true }, [[{}, '/validation_required/'], [{ lat: 1 }, { lon: 0, lat: 1 }]]],
]; // prettier-ignore

// prettier-ignore

test('each type normalises, refuses and answers as the contract says', async (t) => {
  const { ask } = await setUp(t, []);
  for (const [index, [options, values]] of contract.entries()) {
    const name = `c${index}`;
    const made = await ask('POST', '', { name, fields: [{ name: 'value', ...options }] });
    assert.equal(made.status, 200, made.text);
    for (const [given, wanted] of values) {
      const what = `${JSON.stringify(options)}: ${JSON.stringify(given).slice(0, 50)}`;
      const answer = await ask('POST', `/${name}/records`, { value: given });
      const code = typeof wanted === 'string' && /^\/(validation_\w+)\/$/.exec(wanted)?.[1];
      if (code) assert.deepEqual([answer.status, answer.json.data.value?.code], [400, code], what);
      else assert.deepEqual([answer.status, answer.json.value], [201, wanted], what);
    }
    const listed = await ask('GET', `/${name}/records?fields=value&perPage=1000`);
    const taken = values.flatMap(([, wanted]) =>
      String(wanted).startsWith('/validation_') ? [] : [{ value: wanted }],
    );
    assert.deepEqual(listed.json.items, taken, 'what was answered is what is stored');
  }
});

test('an editor keeps its HTML byte for byte: made, changed, filtered, sorted and told of', async (t) => {
  const { service, ask } = await setUp(t, [{ name: 'body', type: 'editor', maxSize: 50 }]);
  const html = '<p onclick="x()">a & b</p>\r\n ';
  const made = await ask('POST', records, { body: html });
  const { id } = made.json;
  assert.equal(made.json.body, html);
  const empty = await ask('POST', records, {});
  assert.equal(empty.json.body, '');
  assert.equal((await ask('PATCH', `${records}/${id}`, { body: '<i>é' })).json.body, '<i>é');
  assert.equal((await ask('GET', `${records}/${id}`)).json.body, '<i>é');
  assert.deepEqual(await idsOf(ask, "filter=body~'<i>'"), [id]);
  assert.deepEqual(await idsOf(ask, 'sort=body'), [empty.json.id, id]);
  assert.deepEqual(
    (await eventsOf(service, id)).map(({ data }) => data['body']),
    [html, '<i>é'],
  );
  const refused = await ask('PATCH', `${records}/${id}`, { body: 'x'.repeat(51) });
  assert.deepEqual([refused.status, refused.json.data.body.params], [400, { maxSize: 50 }]);
});

test('a point is made, changed, filtered and sorted by its parts, and told of', async (t) => {
  const { service, ask } = await setUp(t, [{ name: 'place', type: 'geoPoint' }]);
  const { json: nowhere } = await ask('POST', records, {});
  const { json: made } = await ask('POST', records, { place: { lat: 52.5, lon: 13.4 } });
  assert.deepEqual([nowhere.place, made.place], [{ lon: 0, lat: 0 }, { lon: 13.4, lat: 52.5 }]); // prettier-ignore
  const changed = await ask('PATCH', `${records}/${made.id}`, { place: '{"lat": -33.9, "lon": 18.4}' });
  assert.match(changed.text, /"place":\{"lon":18\.4,"lat":-33\.9\}/);
  const again = await ask('PATCH', `${records}/${made.id}`, { place: { lat: -33.9, lon: 18.4, x: 1 } });
  assert.equal(again.text, changed.text, 'the same place is no change');
  assert.deepEqual(await idsOf(ask, 'filter=place.lat<0'), [made.id]);
  assert.deepEqual(await idsOf(ask, 'filter=place.lon=0'), [nowhere.id]);
  assert.deepEqual(await idsOf(ask, 'sort=place.lat'), [made.id, nowhere.id]);
  assert.deepEqual(
    (await eventsOf(service, made.id)).map(({ data }) => data['place']),
    [
      { lon: 13.4, lat: 52.5 },
      { lon: 18.4, lat: -33.9 },
    ],
  );
  for (const [place, code] of [
    [{ lat: 91 }, 'validation_invalid_latitude'],
    [{ lon: -181 }, 'validation_invalid_longitude'],
    ['here', 'validation_unsupported_value_type'],
    [[1, 2], 'validation_unsupported_value_type'],
  ] as const) {
    const refused = await ask('PATCH', `${records}/${made.id}`, { place });
    assert.deepEqual([refused.status, refused.json.data.place?.code], [400, code]);
  }
});

test('a point that is added to a collection with records is nowhere in them', async (t) => {
  const { ask } = await setUp(t, [{ name: 'title', type: 'text' }]);
  const { json: made } = await ask('POST', records, { title: 'a' });
  const fields = [{ name: 'place', type: 'geoPoint' }];
  assert.equal((await ask('PATCH', '/posts', { fields })).status, 200);
  assert.deepEqual((await ask('GET', `${records}/${made.id}`)).json.place, { lon: 0, lat: 0 });
  assert.deepEqual(await idsOf(ask, 'filter=place.lat=0'), [made.id]);
});

test('names of files stay, go and change order, and none gets in without its file', async (t) => {
  const { service, ask } = await setUp(t, [
    { name: 'cover', type: 'file' },
    { name: 'pictures', type: 'file', maxSelect: 3 },
  ]);
  const { json: made } = await ask('POST', records, {});
  assert.deepEqual([made.cover, made.pictures], ['', []]);
  // As an upload would have left it.
  await service.withInstance('default', ({ database, collections }) =>
    database.write((tx) => {
      const { table } = recordTable(collections.get('posts')).statements(tx.names);
      return tx.run(sql`UPDATE ${table} SET cover = ${'a.png'}, pictures = ${'["b.png","c.png"]'}`);
    }),
  );
  const at = `${records}/${made.id}`;
  const kept = await ask('PATCH', at, { cover: 'a.png', pictures: ['c.png', 'b.png', 'c.png'] });
  assert.deepEqual([kept.json.cover, kept.json.pictures], ['a.png', ['c.png', 'b.png']]);
  assert.deepEqual(await idsOf(ask, "filter=pictures~'c.png'"), [made.id]);
  assert.deepEqual(await idsOf(ask, 'sort=-cover'), [made.id]);
  for (const [body, name] of [
    [{ cover: 'b.png' }, 'cover'],
    [{ pictures: ['b.png', 'new.png'] }, 'pictures'],
  ] as const) {
    const refused = await ask('PATCH', at, body);
    assert.deepEqual([refused.status, refused.json.data[name]?.code], [400, 'validation_invalid_file']);
  }
  assert.equal(
    (await ask('POST', records, { cover: 'a.png' })).json.data.cover.code,
    'validation_invalid_file',
  );
  const left = await ask('PATCH', at, { cover: null, pictures: 'b.png' });
  assert.deepEqual([left.json.cover, left.json.pictures], ['', ['b.png']]);
  assert.deepEqual((await eventsOf(service, made.id)).at(-1)?.data['pictures'], ['b.png']);
});
