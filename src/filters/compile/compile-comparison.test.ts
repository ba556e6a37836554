import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { decimalText, realText } from '../../base/text.ts';
import {
  identifier,
  foldFunction,
  likeFunction,
  realTextFunction,
  sql,
  type Sql,
  type SqlValue,
} from '../../sql/sql.ts';
import { compileComparison, likePattern } from './compile.ts';
import { type PlainConstant, isOperand, type Operand } from '../operand.ts';
import { sqliteDialect } from '../sqlite-dialect.ts';
import type { OperandNode, Operator } from '../parse.ts';

/**
 * The reference leaves conversions to the affinities of SQLite's columns and to its bound values; we do them ourselves, to
 * have the same on every engine. This compares the two on random rows.
 */
const database = new DatabaseSync(':memory:');
database.function(realTextFunction.name, realTextFunction.call);
database.function(foldFunction.name, foldFunction.call);
database.function(likeFunction.name, likeFunction.call);
// NUMERIC and BOOLEAN as the reference declares them, a REAL beside it as our own tables do.
database.exec(
  'CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT, s2 TEXT, n NUMERIC, n2 NUMERIC, r REAL, r2 REAL, b BOOLEAN)',
);

const operands: Readonly<Record<string, Operand>> = {
  s: { sql: identifier('s'), kind: 'text' },
  s2: { sql: identifier('s2'), kind: 'date' },
  n: { sql: identifier('n'), kind: 'number' },
  n2: { sql: identifier('n2'), kind: 'number' },
  r: { sql: identifier('r'), kind: 'number' },
  r2: { sql: identifier('r2'), kind: 'number' },
  b: { sql: identifier('b'), kind: 'bool' },
};

/** The same values in NUMERIC columns, where the reference has them. */
const asReference = new Map([
  ['r', 'n'],
  ['r2', 'n2'],
]);

const numbers = fc.oneof(
  fc.constantFrom(0, 1, -1, 5, 5.5, 0.1, 1e15, 1e16, 1e17, 1e21, -2.5, 1e-5, 100),
  fc.integer({ min: -20, max: 20 }),
  // Few digits: of many, versions of SQLite write different numbers of them into texts.
  fc
    .tuple(fc.integer({ min: -99_999, max: 99_999 }), fc.integer({ min: -25, max: 25 }))
    .map(([digits, exponent]) => Number(`${digits}e${exponent}`)),
);

const texts = fc.oneof(
  fc.constantFrom(
    '',
    '5',
    '5.0',
    ' 5',
    '5 ',
    '1e2',
    '.5',
    '5.',
    '0x5',
    '-1',
    '+1',
    '1e',
    'Infinity',
    'a',
    'A',
    'ab%',
    '%',
    '_',
    'a_b',
  ),
  fc.constantFrom(
    '\\',
    'a\\',
    '\\%',
    '\\\\%',
    'Ä',
    'ä',
    '\uff5e',
    '😀',
    '\u00a05',
    '\n5\t',
    '1e400',
    'null',
    '[]',
    '0.1',
  ),
  numbers.map(realText),
  fc.string({ maxLength: 3, unit: fc.constantFrom('a', 'B', '%', '_', '\\', '1') }),
);

const nullable = <Value>(values: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> =>
  fc.option(values, { freq: 8 });
const row = fc.tuple(
  nullable(texts),
  nullable(texts),
  nullable(numbers),
  nullable(numbers),
  fc.constantFrom(0, 1, null),
);

const constants: fc.Arbitrary<PlainConstant> = fc.oneof(texts, numbers, fc.constantFrom(null, 0n, 1n, 2026n));
const sides = fc.oneof(
  constants,
  fc.constantFrom(...Object.keys(operands)).map((name) => ({ name })),
);

const operators = fc.constantFrom<Operator>('=', '!=', '<', '<=', '>', '>=', '~', '!~');

type Side = PlainConstant | { readonly name: string };

test('conversions done here select what the affinities of SQLite select', (context) => {
  const seed = 20_261_120;
  context.diagnostic(`seed ${seed}`);
  const cases = fc.tuple(fc.array(row, { minLength: 1, maxLength: 6 }), sides, operators, sides);
  fc.assert(
    fc.property(cases, ([rows, left, operator, right]) => {
      database.exec('DELETE FROM t');
      const insert = database.prepare('INSERT INTO t (s, s2, n, n2, r, r2, b) VALUES (?, ?, ?, ?, ?, ?, ?)');
      for (const [s, s2, n, n2, b] of rows) insert.run(s, s2, n, n2, n, n2, b);
      const [leftNode, rightNode] = [toNode(left), toNode(right)];
      const ours = compileComparison(
        { kind: 'comparison', left: leftNode, operator, isAny: false, right: rightNode, position: 0 },
        // Stored: a text beside a date may be any.
        { resolve, dialect: sqliteDialect, now: 0, isStored: true },
      );
      assert.deepEqual(select(ours), select(reference(left, operator, right)));
    }),
    { numRuns: 6_000, seed },
  );
});

/** Constants the language cannot write as they are (exponents, integers) go through names. */
function toNode(side: Side): OperandNode {
  if (typeof side === 'string') return { kind: 'text', value: side, position: 0 };
  if (typeof side === 'number') return { kind: 'number', value: side, position: 0 };
  if (side === null) return { kind: 'identifier', name: 'null', position: 0 };
  if (isColumn(side)) return { kind: 'identifier', name: side.name, position: 0 };
  if (side === 2026n) return { kind: 'identifier', name: '@year', position: 0 };
  return { kind: 'identifier', name: side === 1n ? 'true' : 'false', position: 0 };
}

function resolve(name: string): Operand | undefined {
  return operands[name];
}

function select(condition: Sql): unknown[] {
  const statement = database.prepare(`SELECT id FROM t WHERE ${condition.text} ORDER BY id`);
  return statement.all(...condition.values).map((row) => row['id']);
}

function isColumn(side: Side): side is { readonly name: string } {
  return typeof side === 'object' && side !== null;
}

/** Section 8.4 of the contract, as it stands there. */
function reference(left: Side, operator: Operator, right: Side): Sql {
  const isEmpty = (side: Side): boolean => side === null || side === '';
  const render = (side: Side): Sql =>
    isColumn(side)
      ? identifier(asReference.get(side.name) ?? side.name)
      : side === null
        ? sql`NULL`
        : sql`${bound(side)}`;
  const [a, b] = [render(left), render(right)];
  if (operator === '~' || operator === '!~') {
    const found =
      isColumn(right) || right === null ? sql`('%' || ${b} || '%')` : sql`${likePattern(patternText(right))}`;
    return operator === '~' ? sql`${a} LIKE ${found} ESCAPE '\\'` : sql`${a} NOT LIKE ${found} ESCAPE '\\'`;
  }
  if (operator !== '=' && operator !== '!=')
    return sql`${a} ${{ '<': sql`<`, '<=': sql`<=`, '>': sql`>`, '>=': sql`>=` }[operator]} ${b}`;
  const isEqual = operator === '=';
  if (isEmpty(left) && isEmpty(right)) return isEqual ? sql`TRUE` : sql`FALSE`;
  const isKnown = (side: Side): boolean => !isColumn(side) && !isEmpty(side);
  if (isKnown(left) || isKnown(right)) {
    const [c, d] = [isEmpty(left) ? sql`''` : a, isEmpty(right) ? sql`''` : b];
    return isEqual ? sql`${c} = ${d}` : sql`${c} IS NOT ${d}`;
  }
  if (isEmpty(left) || isEmpty(right)) {
    const x = isEmpty(left) ? b : a;
    return isEqual ? sql`(${x} = '' OR ${x} IS NULL)` : sql`(${x} IS NOT '' AND ${x} IS NOT NULL)`;
  }
  return isEqual
    ? sql`COALESCE(${a}, '') = COALESCE(${b}, '')`
    : sql`COALESCE(${a}, '') IS NOT COALESCE(${b}, '')`;
}

function bound(side: string | number | bigint): SqlValue {
  // @year of the moment 0.
  return side === 2026n ? 1970n : side;
}

function patternText(side: string | number | bigint): string {
  return typeof side === 'number' ? decimalText(side) : String(bound(side));
}

test('an operand is distinguished from a constant', () => {
  assert.deepEqual(['', 0, 0n, null].map(isOperand), [false, false, false, false]);
  assert.ok(isOperand({ sql: sql`x`, kind: 'text' }));
});
