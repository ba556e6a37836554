import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordedDatabase } from '../../test/plans/recorded-database.ts';
import { describeEngines } from '../../test/support/engines.ts';
import { insertEvents, openLogDatabase } from '../../test/support/log-rows.ts';
import { sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';
import { measureLog } from './measure-log.ts';

const created = 1_000_000;
const later = created + 3_600_000;

/** Copies the event at position 1, of two bytes, to the positions from one on. */
async function copyEvents(database: Database, first: number, count: number): Promise<void> {
  const { names } = database;
  const event = names.table('$event');
  const columns = sql`id, kind, collection, collection_name, record, revision, created, body`;
  await database.write((tx) =>
    tx.run(sql`
      INSERT INTO ${event} (${names.instance.column}position, ${columns})
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${count - 1})
      SELECT ${names.instance.column}CAST(${first} + i AS bigint), ${columns} FROM ${event}, n
      WHERE ${names.instance.condition} AND position = 1`),
  );
}

async function removeUpTo(database: Database, last: number): Promise<void> {
  const { names } = database;
  await database.write((tx) =>
    tx.run(
      sql`DELETE FROM ${names.table('$event')} WHERE ${names.instance.condition} AND position <= ${last}`,
    ),
  );
}

describeEngines('the size of the log', (open) => {
  test('is that of its events, of which those in the middle are read once', async (t) => {
    const plain = await openLogDatabase(t, open);
    let reads = 0;
    const database = recordedDatabase(plain, ({ text }) => {
      if (text.includes('length(body)')) reads += 1;
    });
    const measure = async (nowMs = later): Promise<readonly unknown[]> => {
      reads = 0;
      return [await measureLog(database, nowMs), reads];
    };
    assert.deepEqual(await measure(), [0, 1]);
    await insertEvents(plain, [{ position: 1, id: 'event', created }]);
    assert.deepEqual(await measure(), [2, 1]);
    await copyEvents(plain, 2, 49_999);
    // What was written a moment ago may still be joined by events before it.
    assert.deepEqual(await measure(created), [100_000, 6]);
    assert.deepEqual(await measure(created), [100_000, 6]);
    assert.deepEqual(await measure(), [100_000, 6]);
    // The first part and the end.
    assert.deepEqual(await measure(), [100_000, 2]);
    await copyEvents(plain, 50_001, 10);
    assert.deepEqual(await measure(), [100_020, 2]);
    await removeUpTo(plain, 24_000);
    assert.deepEqual(await measure(), [52_020, 2]);
    await removeUpTo(plain, 60_000);
    assert.deepEqual(await measure(), [0, 1]);
  });
});
