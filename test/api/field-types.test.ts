import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { recordStatements } from '../../src/records/record-statements.ts';
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
      const { table } = recordStatements(collections.get('posts'), tx.names);
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
