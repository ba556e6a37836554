import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql, type Sql } from '../sql/sql.ts';
import { compileFilter } from './compile/compile.ts';
import { compileSort, parseSort, sortTerms } from './compile/sort.ts';
import type { Comparator } from './dialect.ts';
import type { Operand, Resolve, Term } from './operand.ts';
import { parseFilter } from './parse.ts';
import { postgresDialect } from './postgres-dialect.ts';

/** What PostgreSQL answers is asked in test/parity/; here is what can be seen in the statements. */
const text: Operand = { sql: sql`"title"`, kind: 'text' };
const date: Operand = { sql: sql`"due"`, kind: 'date' };
const number: Operand = { sql: sql`"price"`, kind: 'number' };
const bool: Operand = { sql: sql`"sold"`, kind: 'bool' };
const json: Operand = { sql: sql`"data"`, kind: 'json', path: ['list', 0] };
const long: Operand = {
  ...text,
  prefix: { sql: sql`left("title", 4)`, length: 4, isWhole: false },
};

const operands = [text, date, number, bool, json, long];
const comparators: readonly Comparator[] = ['=', 'IS', 'IS NOT', '<', '<=', '>', '>='];

function statements(): readonly Sql[] {
  const terms: readonly Term[] = [...operands, 'needle?', 4242, 4242n, null];
  const compared = operands.flatMap((left) =>
    terms.flatMap((right) =>
      comparators.flatMap((comparator) => [
        postgresDialect.compare(left, comparator, right),
        postgresDialect.compare(right, comparator, left),
      ]),
    ),
  );
  const liked = [...operands, 'needle?'].flatMap((subject) =>
    [...operands, '%needle?%', 'needle\\'].map((pattern) =>
      postgresDialect.like({ subject, pattern, isNegated: false }),
    ),
  );
  const ordered = operands.map((operand) => postgresDialect.orderBy(operand, true));
  return [...compared, ...liked, ...ordered, ...calls()];
}

function calls(): readonly Sql[] {
  const names: Resolve = (name) => [...operands].find((operand) => operand.sql.text === `"${name}"`);
  const moments = ['title', 'due', 'price', 'sold', 'data', '4242', "'needle?'", 'null'].map(
    (time) =>
      `strftime('%d%e%f%F%g%G%H%I%j%k%l%m%M%p%P%R%s%S%T%u%U%V%w%W%Y needle?', ${time}, '+1 day', '-4242 months', 'weekday 3', 'start of year')`,
  );
  return [...moments, "strftime('%s', price, 'unixepoch')", 'geoDistance(price, sold, data, 4242)'].map(
    (call) => {
      const tree = parseFilter(`${call} = 'needle?'`);
      return compileFilter(tree, { resolve: names, dialect: postgresDialect, now: 0 });
    },
  );
}

test('every question mark is a placeholder, every placeholder has its type, and no value is text of a statement', () => {
  for (const statement of statements()) {
    assert.equal(statement.text.split('?').length - 1, statement.values.length, statement.text);
    assert.equal(
      statement.text.match(/\?::(?:text|integer|smallint|bigint|double precision)/g)?.length ?? 0,
      statement.values.length,
    );
    assert.doesNotMatch(statement.text, /needle|4242|list|\\/);
  }
});

const plain: readonly (readonly [left: Term, comparator: Comparator, right: Term, text: string])[] = [
  [text, '=', 'a', '"title" = ?::text'],
  [date, '>=', 'a', '"due" >= ?::text'],
  ['a', '<', date, '"due" > ?::text'],
  [text, 'IS', null, '"title" IS NULL'],
  [null, 'IS NOT', text, '"title" IS NOT NULL'],
  [number, '=', 5, '"price" = ?::double precision'],
  [number, '=', 1, '"price" = ?::double precision'],
  [bool, '=', 1, '"sold" = ?::smallint'],
  [bool, '=', 0.5, '"sold" = ?::double precision'],
  [text, '<', date, '"title" < "due"'],
  [long, '=', 'abc', 'left("title", 4) = ?::text'],
  ['abc', '<=', long, 'left("title", 4) >= ?::text'],
  [long, '=', 'abcd', '(left("title", 4) = left(?::text, 4) AND "title" = ?::text)'],
  [long, '<', 'abcd', '(left("title", 4) <= left(?::text, 4) AND "title" < ?::text)'],
  [long, 'IS NOT', 'abcd', '"title" IS DISTINCT FROM ?::text'],
  [long, 'IS NOT', null, 'left("title", 4) IS NOT NULL'],
  [number, '<', bool, '"price" < "sold"'],
];

for (const [left, comparator, right, expected] of plain) {
  test(`an index may serve ${expected}`, () => {
    assert.equal(postgresDialect.compare(left, comparator, right).text, expected);
  });
}

test('a column that is never null is ordered as indexes are, others with null first, or last when descending', () => {
  const order = (operand: Operand, isDescending: boolean): string =>
    postgresDialect.orderBy(operand, isDescending).text;
  const never: Operand = { ...text, isNeverNull: true };
  assert.deepEqual([order(never, false), order(never, true)], ['"title"', '"title" DESC']);
  assert.deepEqual(order(long, true), 'left("title", 4) DESC NULLS LAST, "title" DESC NULLS LAST');
  assert.deepEqual(
    [order(text, false), order(text, true)],
    ['"title" NULLS FIRST', '"title" DESC NULLS LAST'],
  );
});

test('a guarded column is null where its guard does not hold, though it never is itself', () => {
  const resolve = (): Operand => ({ ...text, isNeverNull: true, guard: sql`"shown" = ${1}` });
  const tieBreaker: Operand = { sql: sql`"$position"`, kind: 'number', isNeverNull: true };
  const order = compileSort(
    sortTerms(parseSort('-title'), { resolve, tieBreaker, dialect: postgresDialect }),
    postgresDialect,
  );
  assert.equal(order.text, '(CASE WHEN "shown" = ? THEN "title" END) DESC NULLS LAST, "$position" DESC');
});

test('case is folded by no locale, whatever the database, another collation of the column included', () => {
  const { text: statement, values } = postgresDialect.like({
    subject: text,
    pattern: 'AÄ%',
    isNegated: false,
  });
  assert.equal(
    statement,
    'CASE WHEN octet_length("title") = char_length("title") THEN lower(("title") COLLATE "C") LIKE ?::text ELSE ("title") COLLATE "C" ~ ?::text END',
  );
  assert.deepEqual(values, ['aä%', '^[aA][äÄ]']);
});

test('JSON is parsed once for each side of a comparison', () => {
  for (const right of [json, number, text, 'a', 5]) {
    const { values } = postgresDialect.compare(json, '<', right);
    assert.equal(values.filter((value) => value === 'list').length, right === json ? 2 : 1);
  }
});

test('two constants are no comparison of a row', () => {
  assert.throws(() => postgresDialect.compare(1, '=', 1), /one side of a comparison is an operand/);
});
