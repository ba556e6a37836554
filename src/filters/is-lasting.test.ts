import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLasting } from './is-lasting.ts';
import { parseFilter } from './parse.ts';
import { parseSort } from './parse-sort.ts';

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
    assert.equal(isLasting(parseFilter(text), parseSort('-a,b')), true));

for (const text of [...passing, `x = 1 && (y = 2 || ${passing[0]})`])
  test(`${text} may mean something else in the next request`, () =>
    assert.equal(isLasting(parseFilter(text), []), false));

test('so may an order by chance or by related records', () => {
  for (const sort of ['@random', 'a,-b.c', '@rowid'])
    assert.equal(isLasting(undefined, parseSort(sort)), false);
});
