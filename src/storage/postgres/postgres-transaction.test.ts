import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPostgresDatabase } from '../../../test/support/postgres-database.ts';
import { sql } from '../../sql/sql.ts';
import type { Transaction, WriteOptions } from '../database.ts';

const setting = sql`SELECT current_setting('statement_timeout')`;
/** Far longer than the test may take. */
const sleep = sql`SELECT pg_sleep(600)`;

async function timesOf(tx: Transaction): Promise<readonly unknown[]> {
  const asked = [tx.tuples(setting), tx.search(setting), tx.tuples(setting)];
  return (await Promise.all(asked)).flat(2);
}

test('a search in a transaction has the query timeout, and other statements have their own time', async (t) => {
  const options = { statementTimeoutMs: 7_000, queryTimeoutMs: 3_000 };
  const { database } = await openPostgresDatabase(t, options);
  const times: readonly (readonly [options: WriteOptions, times: readonly string[]])[] = [
    [{}, ['7s', '3s', '7s']],
    [{ isAppending: true }, ['7s', '3s', '7s']],
    [{ statementMsMax: 5_000 }, ['5s', '3s', '5s']],
    [{ statementMsMax: 2_000 }, ['2s', '2s', '2s']],
    [{ isExclusive: true }, ['10min', '10min', '10min']],
  ];
  for (const [work, expected] of times)
    assert.deepEqual(await database.write(timesOf, work), expected, JSON.stringify(work));
});

test('a search in a transaction that takes too long fails the work, which may go on without its answer', async (t) => {
  const { database } = await openPostgresDatabase(t, { statementTimeoutMs: 600_000, queryTimeoutMs: 50 });
  const late = { name: 'QueryTimeout', code: 'unavailable', message: 'The query took too long.' };
  for (const work of [{}, { isAppending: true }])
    await assert.rejects(
      database.write((tx) => tx.search(sleep), work),
      late,
    );
  const times = await database.write(async (tx) => {
    await assert.rejects(tx.search(sleep), late);
    return timesOf(tx);
  });
  assert.deepEqual(times, ['10min', '50ms', '10min']);
});
