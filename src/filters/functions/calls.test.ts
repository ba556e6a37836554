import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { AppError } from '../../base/errors.ts';
import { foldFunction, likeFunction, realTextFunction, sql } from '../../sql/sql.ts';
import { compileFilter } from '../compile/compile.ts';
import type { Resolve } from '../operand.ts';
import { parseFilter } from '../parse.ts';
import { sqliteDialect } from '../sqlite-dialect.ts';

const now = Date.UTC(2026, 10, 20, 9, 35, 20, 114);
const database = new DatabaseSync(':memory:');
database.function(realTextFunction.name, realTextFunction.call);
database.function(foldFunction.name, foldFunction.call);
database.function(likeFunction.name, likeFunction.call);
database.exec(`CREATE TABLE places (name TEXT, due TEXT, lon REAL, data TEXT);
  INSERT INTO places VALUES ('now', '2023-01-31 10:00:00.000Z', 23.32, '{"lon":1,"lat":"2","a":{"day":"2024-02-29"}}')`);

const resolve: Resolve = (name) => {
  switch (name) {
    case 'name':
      return { sql: sql`name`, kind: 'text' };
    case 'due':
      return { sql: sql`due`, kind: 'date', guard: sql`name = ${'now'}` };
    case 'lon':
      return { sql: sql`lon`, kind: 'number', guard: sql`name <> ${'now'}` };
    case 'data.lon':
    case 'data.lat':
      return { sql: sql`data`, kind: 'json', path: [name.slice(5)] };
    case 'data.day':
      return { sql: sql`data`, kind: 'json', path: ['a', 'day'] };
    case 'asked.lon':
      return ' 12.5 ';
    case 'asked.list':
      return { kind: 'constants', values: [1, 2] };
    default:
      return undefined;
  }
};

function isTrue(filter: string): boolean {
  const { text, values } = compileFilter(parseFilter(filter), { resolve, dialect: sqliteDialect, now });
  return database.prepare(`SELECT 1 FROM places WHERE ${text}`).get(...values) !== undefined;
}

const truths: readonly string[] = [
  "strftime('%Y-%m', due) = '2023-01'",
  "strftime('%F', due, '+1 months') = '2023-03-03'",
  "strftime('%F', due, '+1 month', 'start of month', '-1 day') = '2023-02-28'",
  "strftime('%F', '2023-02-31') = '2023-03-03'",
  "strftime('%F %T', 1700000000, 'unixepoch') = '2023-11-14 22:13:20'",
  "strftime('%F', 2460000.5) = '2023-02-25'",
  "strftime('%F', data.day, 'weekday 1') = '2024-03-04'",
  // One moment for the whole statement, and never that of the engine's clock.
  "strftime('%F %T') = '2026-11-20 09:35:20'",
  "strftime('%f', 'NOW') = '20.114'",
  "strftime('%F', name) = '2026-11-20'",
  "strftime('%F', @yesterday) = '2026-11-19'",
  "strftime('%Y', due) = strftime('%Y', '2023-05-05')",
  // What is no time has no text.
  "strftime('%Y', 'subsec') = ''",
  "strftime('%Y', 'soon') = ''",
  "strftime('%Y', null) = ''",
  "strftime('%Y', '2023-01-01', 'unixepoch') = ''",
  "strftime('%Y', due) != '' && strftime('%Y', '0000000000002460000') = ''",
  'geoDistance(23.321868, 42.697562, 2.3486, 48.85881) > 1757',
  'geoDistance(23.321868, 42.697562, 2.3486, 48.85881) < 1758',
  'geoDistance(10, 20, 10, 20) = 0',
  // Rounded, the cosines of these are a little beyond 1 and -1.
  'geoDistance(0, 0.015, 0, 0.015) = 0',
  'geoDistance(0, 0.021, 180, -0.021) > 20015',
  'geoDistance(data.lon, 0, 1, 0) = 0',
  'geoDistance(asked.lon, 0, 12.5, 0) = 0',
  // A text in json is not made a number, and what is NULL stays NULL.
  'geoDistance(0, data.lat, 0, 0) = null',
  'geoDistance(null, 0, 0, 0) = null',
];

for (const filter of truths) {
  test(`${filter} is true`, () => {
    assert.equal(isTrue(filter), true);
  });
}

test('the guard of an argument applies to the result of the call', () => {
  assert.equal(isTrue("strftime('%Y', due) = '2023'"), true);
  assert.equal(isTrue('geoDistance(lon, 0, lon, 0) = 0'), false);
});

const refusals: readonly (readonly [filter: string, message: string])[] = [
  [
    'geoDistance(1,2,3) < 5',
    'Expected 4 arguments of "geoDistance" (lonA, latA, lonB, latB) and found 3 at position 0.',
  ],
  [
    'geoDistance(1,2,3,4,5) < 5',
    'Expected 4 arguments of "geoDistance" (lonA, latA, lonB, latB) and found 5 at position 0.',
  ],
  [
    "geoDistance(1,2,3,'4') < 5",
    'Expected a field or a number as an argument and found the text "4" at position 18.',
  ],
  [
    'geoDistance(1,2,geoDistance(1,2,3,4),4) < 5',
    'Expected a field or a number as an argument and found the function "geoDistance" at position 16.',
  ],
  [
    'geoDistance(name,2,3,4) < 5',
    'Expected a field of numbers as an argument and found "name" at position 12.',
  ],
  ['geoDistance(1,2,3,asked.list) < 5', 'Expected one value as an argument and found a list at position 18.'],
  ['geoDistance(1,2,3,secret) < 5', 'Unknown field "secret" at position 18.'],
  ['strftime() = 1', 'Expected 1 to 10 arguments of "strftime" and found 0 at position 0.'],
  [
    `strftime('%Y', due${", '+1 day'".repeat(9)}) = 1`,
    'Expected 1 to 10 arguments of "strftime" and found 11 at position 0.',
  ],
  ['strftime(due) = 1', 'Expected a format in quotes as an argument and found "due" at position 9.'],
  [
    'strftime(5, due) = 1',
    'Expected a format in quotes as an argument and found the number 5 at position 9.',
  ],
  ["strftime('%Y %q', due) = 1", 'Unknown part "%q" of the format at position 9.'],
  ["strftime('%J', due) = 1", 'Unknown part "%J" of the format at position 9.'],
  ["strftime('50%', due) = 1", 'Unknown part "%" of the format at position 9.'],
  [
    `strftime('${'x'.repeat(101)}', due) = 1`,
    'Expected at most 100 characters in a format; more at position 9.',
  ],
  [
    "strftime('%Y', strftime('%Y')) = 1",
    'Expected a field, a number or a text as an argument and found the function "strftime" at position 15.',
  ],
  [
    "strftime('%Y', due, 5) = 1",
    'Expected a modifier in quotes as an argument and found the number 5 at position 20.',
  ],
  ["strftime('%Y', due, 'localtime') = 1", 'Unknown modifier "localtime" of a time at position 20.'],
  [
    "strftime('%Y', due, '+1 day', 'unixepoch') = 1",
    'Expected "unixepoch" before all other modifiers at position 30.',
  ],
  ['Strftime(5) = 1', 'Unknown function "Strftime" at position 0.'],
  ['toString(5) = 1', 'Unknown function "toString" at position 0.'],
];

for (const [filter, message] of refusals) {
  test(`${filter} is refused: ${message}`, () => {
    assert.throws(
      () => isTrue(filter),
      (error) => error instanceof AppError && error.code === 'bad_request' && error.message === message,
    );
  });
}

const unknownModifiers = [
  'auto',
  'subsec',
  'utc',
  'julianday',
  'floor',
  'ceiling',
  '+1 week',
  '1day',
  '+ 1 day',
  '+1.5 months',
  'weekday 7',
  'weekday 1.0',
  'start of hour',
  '+5373485 days',
  '+176546 months',
  '14713 years',
  '+10:30',
  ' +1 day',
  '+1 day ',
  '',
];

test('modifiers that not all engines understand alike, or that lead beyond all days, are refused', () => {
  for (const modifier of unknownModifiers) {
    const filter = `strftime('%Y', due, '${modifier}') = 1`;
    assert.throws(
      () => isTrue(filter),
      { message: `Unknown modifier "${modifier}" of a time at position 20.` },
      filter,
    );
  }
});
