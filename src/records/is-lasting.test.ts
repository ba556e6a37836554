import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCacheable } from './answer-cache.ts';
import { parseFilter } from '../filters/parse.ts';
import { parseSort } from '../filters/sort.ts';

const lasting = ['a = 1', 'a = "@now"', '(a = b && (c ~ "x" || d != null))', 'a_1 > 2'];
const passing = [
  'a > @now',
  '@request.auth.id = a',
  'a.b = 1',
  'a:lower = "x"',
  'strftime("%Y", a) = "2026"',
];

for (const text of lasting)
  test(`${text} means the same in every request`, () =>
    assert.equal(
      isCacheable({ filter: parseFilter(text), sort: parseSort('-a,b'), within: 'definition' }),
      true,
    ));

for (const text of [...passing, `x = 1 && (y = 2 || ${passing[0]})`])
  test(`${text} may mean something else in the next request`, () =>
    assert.equal(isCacheable({ filter: parseFilter(text), within: 'definition' }), false));

test('so may an order by chance or by related records', () => {
  for (const sort of ['@random', 'a,-b.c', '@rowid'])
    assert.equal(isCacheable({ sort: parseSort(sort), within: 'definition' }), false);
});

const stored = [
  'a.b.c ?= 1',
  'owner = @request.auth.id && @request.auth.team.name != ""',
  'teams_via_owner.a:lower = "@now"',
  '@collection.teams:x.owner ?= @request.auth.id',
];

const ofTheRequest = [
  'a.b > @now',
  '@request.query.x = a',
  '@request.headers.x_token = "1"',
  '@request.method = "GET"',
  '@request.context = "default"',
  '@request.body.a = 1',
  'geoDistance(a.lon, a.lat, 1, 2) < 3',
];

for (const text of [...lasting, ...stored])
  test(`${text} means the same to one caller as long as nothing changes`, () =>
    assert.equal(isCacheable({ filter: parseFilter(text), within: 'state' }), true));

for (const text of ofTheRequest)
  test(`${text} may mean something else though nothing has changed`, () =>
    assert.equal(isCacheable({ filter: parseFilter(`a = 1 && ${text}`), within: 'state' }), false));

test('an order by chance is another one each time', () =>
  assert.equal(isCacheable({ sort: parseSort('a,@random'), within: 'state' }), false));
