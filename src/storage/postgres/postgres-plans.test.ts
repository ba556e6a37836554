import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPostgresDatabase } from '../../../test/support/postgres-database.ts';
import { sql } from '../../sql/sql.ts';
import type { WriteOptions } from '../database.ts';

test('a work that finds its rows by their keys reads no table whole, however small it is', async (t) => {
  const { database } = await openPostgresDatabase(t);
  const table = database.names.collectionTable('note');
  await database.write(
    async (tx) => {
      await tx.run(sql`CREATE TABLE ${table} (id text PRIMARY KEY, text text)`);
      await tx.run(sql`INSERT INTO ${table} VALUES ('a', 'x'), ('b', 'y')`);
      await tx.run(sql`ANALYZE ${table}`);
    },
    { isExclusive: true },
  );
  const given = database.names.valuesTable([['key', 'text']], [['a'], ['b']]);
  const planOf = async (options: WriteOptions): Promise<string> => {
    const update = sql`EXPLAIN UPDATE ${table} AS note SET text = 'z' FROM ${given} WHERE note.id = given.key`;
    const lines = await database.write((tx) => tx.tuples(update), options);
    return lines.join('\n');
  };
  assert.match(await planOf({ findsByKey: true }), /Index Scan using note_pkey/);
  // The settings end with their transaction, though the connection is used again.
  assert.match(await planOf({}), /Seq Scan on note/);
});
