import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPostgresDatabase } from '../../../test/support/postgres-database.ts';
import { foundByKeys, sql } from '../../sql/sql.ts';
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

test('a read that is marked as one by keys is planned once, and those before and behind it as usual', async (t) => {
  const { database } = await openPostgresDatabase(t, { max: 1 });
  const modes = sql`SELECT current_setting('plan_cache_mode'), current_setting('enable_seqscan')`;
  const usual = [['auto', 'on']];
  for (let count = 0; count < 2; count += 1) {
    assert.deepEqual(await database.tuples(modes), usual);
    assert.deepEqual(await database.tuples(foundByKeys(modes)), [['force_generic_plan', 'off']]);
    assert.deepEqual(await database.write((tx) => tx.tuples(modes)), usual);
    assert.deepEqual(await database.tuples(foundByKeys(modes)), [['force_generic_plan', 'off']]);
  }
  assert.deepEqual(await database.search(modes), usual);
});
