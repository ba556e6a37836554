// Both engines: functions compile to SQL of each.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { idsOf, longId, startBlog, type Blog } from '../support/blog.ts';

/** Spots sofia, paris, rome (opened 2020, 2021, 2021); trips: t1 Sofia and Paris · t2 Rome · t3 nowhere. Rome is where t2 starts. */
async function startTrips(t: TestContext): Promise<Blog> {
  const blog = await startBlog(t);
  const make = async (
    name: string,
    fields: readonly object[],
    listRule: string | null = '',
  ): Promise<string> => {
    const { status, json, text } = await blog.ask('POST', '', { name, fields, listRule, createRule: '' });
    assert.equal(status, 200, text);
    return String(json.id);
  };
  const add = async (collection: string, id: string, body: object): Promise<void> => {
    const { status, text } = await blog.ask('POST', `/${collection}/records`, { id: longId(id), ...body });
    assert.equal(status, 201, text);
  };
  const spots = await make('spots', [
    { name: 'place', type: 'geoPoint' },
    { name: 'opened', type: 'date' },
  ]);
  await make('trips', [
    { name: 'stops', type: 'relation', collectionId: spots, maxSelect: 9 },
    { name: 'start', type: 'relation', collectionId: spots },
  ]);
  await add('spots', 'sofia', { place: { lon: 23.321868, lat: 42.697562 }, opened: '2020-05-01' });
  await add('spots', 'paris', { place: { lon: 2.3486, lat: 48.85881 }, opened: '2021-01-31 23:30:00' });
  await add('spots', 'rome', { place: { lon: 12.482781, lat: 41.893077 }, opened: '2021-12-31' });
  const [sofia, paris, rome] = ['sofia', 'paris', 'rome'].map(longId);
  await add('trips', 't1', { stops: [sofia, paris] });
  await add('trips', 't2', { stops: [rome], start: rome });
  await add('trips', 't3', {});
  return blog;
}

const fromParis = 'geoDistance(stops.place.lon, stops.place.lat, 2.3486, 48.85881)';
const selections: readonly (readonly [collection: string, filter: string, selected: string])[] = [
  ['spots', 'geoDistance(place.lon, place.lat, 23.3, 42.7) < 5', 'sofia'],
  ['spots', 'geoDistance(place.lon, place.lat, 2.3486, 48.85881) >= 1757', 'sofia'],
  ['spots', "strftime('%Y', opened) = '2021'", 'paris rome'],
  ['spots', "strftime('%F', opened, '+1 month') = '2021-03-03'", 'paris'],
  // One and the same related record gives both coordinates, and one that matches is enough.
  ['trips', `${fromParis} < 5`, 't1'],
  ['trips', `${fromParis} > 1500`, 't1'],
  ['trips', `${fromParis} = null`, 't3'],
  // Rounded, the cosines of these are a little beyond 1 and -1.
  ['spots', 'geoDistance(0, 0.015, 0, 0.015) = 0', 'sofia paris rome'],
  ['spots', 'geoDistance(0, 0.021, 180, -0.021) > 20015', 'sofia paris rome'],
  ['trips', 'geoDistance(start.place.lon, start.place.lat, 12.48, 41.89) < 5', 't2'],
  // Of a time all have to match, or any.
  ['trips', "strftime('%Y', stops.opened) = '2021'", 't2'],
  ['trips', "strftime('%Y', stops.opened) ?= '2021'", 't1 t2'],
  ['trips', "strftime('%Y', start.opened) = '2021'", 't2'],
  ['trips', "strftime('%Y', stops.opened) = ''", 't3'],
];

test('distances and moments select records, through relations too', async (t) => {
  const { select } = await startTrips(t);
  for (const [collection, filter, selected] of selections)
    assert.equal(await select(filter, { collection }), selected, filter);
});

test('a rule may ask how far away the caller is, by numbers in the query', async (t) => {
  const { ask, askAsGuest } = await startTrips(t);
  const listRule = 'geoDistance(place.lon, place.lat, @request.query.lon, @request.query.lat) < 50';
  const { status } = await ask('PATCH', '/spots', { listRule });
  assert.equal(status, 200);
  const listed = async (query: string): Promise<readonly string[]> => {
    const { json } = await askAsGuest('GET', `/spots/records?fields=id&${query}`);
    return idsOf(json.items).map((id) => id.replace(/0+$/, ''));
  };
  assert.deepEqual(await listed('lon=23.3&lat=42.7'), ['sofia']);
  assert.deepEqual(await listed('lon=here&lat=42.7'), []);
  assert.deepEqual(await listed(''), []);
  assert.deepEqual(await listed('lon=1e999&lat=-1e999'), []);
  assert.deepEqual(await listed('lon=1e-999&lat=1e-320'), []);
});

test('a function that is used wrongly is a bad request that names it, and a rule with one is not saved', async (t) => {
  const { select, ask } = await startTrips(t);
  const wrong = "strftime('%Y', opened, 'localtime') = '2021'";
  assert.equal(
    await select(wrong, { collection: 'spots' }),
    'Unknown modifier "localtime" of a time at position 23.',
  );
  const { status } = await ask('PATCH', '/spots', { listRule: wrong });
  assert.equal(status, 400);
});
