import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPostgresDatabase } from '../../../test/support/postgres-database.ts';
import { insertInto, sql, type SqlValue } from '../../sql/sql.ts';
import type { Tuple } from '../database.ts';
import { toPostgresArray } from './postgres-array.ts';

const rows: readonly (readonly [text: SqlValue, double: number, small: number, json: SqlValue])[] = [
  ['', 0, 0, null],
  ['"\'\\ \u{1F600} e\u0301 \u4E2D\n\t\u007F {a,b} NULL', 1e308, 1, '{"a":["b\\"",null]}'],
  ['NULL', 5e-324, 0, '""'],
  ['a?b $1', -0, 1, 'null'],
  ['\uD800 alone', 0.1 + 0.2, 0, null],
  ['x'.repeat(300_000), -1e21, 1, null],
  ['last', 2 ** 53 - 1, 0, '1'],
];

test('rows that are inserted together hold what they would hold alone', async (t) => {
  const { database } = await openPostgresDatabase(t);
  const { names } = database;
  const columns = sql`(n bigint, t text, d double precision, b smallint, j text, transaction xid8 DEFAULT pg_current_xact_id())`;
  const insert = async (name: string, isAppending: boolean): Promise<readonly Tuple[]> => {
    const table = names.collectionTable(name);
    await database.write((tx) => tx.run(sql`CREATE TABLE ${table} ${columns}`), { isExclusive: true });
    const writes = rows.map(([text, double, small, json], n) =>
      database.write(
        (tx) => {
          const row = sql`${n}, ${text}, ${double}, ${small}, ${json}`;
          return tx.run(insertInto(table, sql`n, t, d, b, j`, row));
        },
        { isAppending },
      ),
    );
    await Promise.all(writes);
    return await database.tuples(sql`SELECT * FROM ${table} ORDER BY n`);
  };
  const together = await insert('together', true);
  assert.equal(new Set(together.map((row) => row.at(-1))).size, 1);
  const alone = await insert('alone', false);
  const held = (all: readonly Tuple[]): readonly Tuple[] => all.map((row) => row.slice(0, -1));
  assert.deepEqual(held(together), held(alone));
  assert.equal(together.length, rows.length);
});

test('a value that an array cannot hold is no value of a row', () => {
  assert.throws(() => toPostgresArray([new Uint8Array(1)]), /an array of another kind holds no bytes/);
});
