import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { realText } from '../base/text.ts';
import { foldFunction, likeFunction, realTextFunction, sql } from '../sql/sql.ts';
import { jsonPath } from './operand.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

const database = new DatabaseSync(':memory:');
database.function(realTextFunction.name, realTextFunction.call);
database.function(foldFunction.name, foldFunction.call);
database.function(likeFunction.name, likeFunction.call);
database.exec(
  `CREATE TABLE t (data TEXT); INSERT INTO t VALUES ('{"list":["zero","one"],"0":"member","a.b":1}')`,
);

const paths: readonly (readonly [name: string, value: string | null])[] = [
  ['list.0', 'zero'],
  ['list.01', 'one'],
  ['list', '["zero","one"]'],
  ['list.2', null],
  ['list.4294967296', null],
  ['list.18446744073709551616', null],
  ['0', null],
  ['list.', null],
  ['a.b', null],
];

for (const [name, value] of paths) {
  test(`the path ${name} leads to ${value}`, () => {
    const operand = { sql: sql`data`, kind: 'json', path: jsonPath(name.split('.')) } as const;
    const { text, values } = sqliteDialect.compare(operand, 'IS', value);
    assert.equal(database.prepare(`SELECT ${text} AS is_same FROM t`).get(...values)?.['is_same'], 1);
  });
}

test('a step of a path that could break out of its quotes is a bug, not SQL', () => {
  for (const step of ['a"', String.raw`a\u0022`]) {
    const operand = { sql: sql`data`, kind: 'json', path: [step] } as const;
    assert.throws(() => sqliteDialect.compare(operand, 'IS', null), /holds no quote/);
  }
});

test('a number is searched with the fewest digits that mean it, in a column and in JSON', () => {
  const values = [1 / 3, 0.1 + 0.2, 0.1, 1234567890123456.5, 1e21, 5, 0];
  for (const value of values) {
    database.exec('CREATE TEMP TABLE n (n REAL, data TEXT)');
    database.prepare('INSERT INTO n VALUES (?, ?)').run(value, JSON.stringify(value));
    const pattern = Number.isInteger(value) && value < 1e17 ? String(value) : realText(value);
    for (const kind of ['number', 'json'] as const) {
      const subject = { sql: kind === 'json' ? sql`data` : sql`n`, kind };
      const { text, values: bound } = sqliteDialect.like({ subject, pattern, isNegated: false });
      assert.equal(
        database.prepare(`SELECT ${text} AS is_found FROM n`).get(...bound)?.['is_found'],
        1,
        pattern,
      );
    }
    database.exec('DROP TABLE n');
  }
});
