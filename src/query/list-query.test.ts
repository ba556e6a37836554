import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../base/errors.ts';
import { type ListQuery, parseListQuery } from './list-query.ts';

function parse(query: string): ListQuery {
  return parseListQuery(new URLSearchParams(query));
}

const pages: readonly (readonly [query: string, page: number, perPage: number])[] = [
  ['', 1, 30],
  ['page=&perPage=', 1, 30],
  ['page=3&perPage=7', 3, 7],
  ['page=0&perPage=0', 1, 30],
  ['page=-5&perPage=-5', 1, 30],
  ['page=%2B2&perPage=%2B2', 2, 2],
  ['page=007&perPage=1000', 7, 1_000],
  ['perPage=1001', 1, 1_000],
  ['perPage=2147483647&page=2147483647', 2_147_483_647, 1_000],
  ['page=2&page=x', 2, 30],
  ['page=&page=x', 1, 30],
  ['unknown=1&page[]=x', 1, 30],
];

for (const [query, page, perPage] of pages) {
  test(`?${query} asks for page ${page} of ${perPage}`, () => {
    const parsed = parse(query);
    assert.deepEqual([parsed.page, parsed.perPage], [page, perPage]);
  });
}

const numbers = [
  'x',
  '1.5',
  '1e18',
  '0x10',
  '1e3',
  ' 1',
  '1 ',
  '+',
  '-',
  '--1',
  '2147483648',
  '-2147483648',
  '9'.repeat(40),
];

for (const key of ['page', 'perPage']) {
  for (const text of [...numbers, '\u0661']) {
    test(`${key} ${JSON.stringify(text)} is refused under its name`, () => {
      const query = new URLSearchParams([[key, text]]);
      const message = `Expected ${key} to be an integer of at most 2147483647.`;
      assert.throws(() => parseListQuery(query), {
        code: 'bad_request',
        message,
        details: { [key]: { code: 'validation_invalid_value', message } },
      });
    });
  }
}

test('skipTotal takes the boolean words of the contract and no others', () => {
  for (const word of ['1', 't', 'T', 'TRUE', 'true', 'True'])
    assert.equal(parse(`skipTotal=${word}`).skipTotal, true);
  for (const word of ['0', 'f', 'F', 'FALSE', 'false', 'False', '']) {
    assert.equal(parse(`skipTotal=${word}`).skipTotal, false);
  }
  for (const word of ['yes', 'tRUE', '2', ' 1']) assert.throws(() => parse(`skipTotal=${word}`), AppError);
});

test('filter, sort and fields are understood at once, and empty ones are absent', () => {
  const { filter, sort, fields } = parse('filter=(a=1)&sort=-b&fields=c');
  assert.equal(filter?.kind, 'comparison');
  assert.deepEqual(sort, [{ name: 'b', isDescending: true, position: 1 }]);
  assert.deepEqual(fields?.members, new Map([['c', true]]));
  const absent = parse('filter=&sort=&fields=');
  assert.deepEqual([absent.filter, absent.sort, absent.fields], [undefined, [], undefined]);
});

test('a blank filter, a nameless sort key, and a cursor beside a page, are refused', () => {
  assert.throws(() => parse('filter=%20'), AppError);
  assert.throws(() => parse('sort=%20'), AppError);
  assert.equal(parse('cursor=').cursor, '');
  const message = 'Expected either a page or a cursor, not both.';
  assert.throws(() => parse('cursor=abc&page=2'), {
    details: { cursor: { code: 'validation_invalid_value', message } },
  });
});
