import assert from 'node:assert/strict';
import { test } from 'node:test';
import { insertDeliveries, insertOutcomes, openLogDatabase, range } from '../../test/support/log-rows.ts';
import { openPostgresDatabase } from '../../test/support/postgres-database.ts';
import { sql } from '../sql/sql.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { readOldestPending } from '../deliveries/log/count-waiting.ts';
import { abortedResult, type AttemptResult } from '../sending/attempt-result.ts';
import { LaneSource } from './lane-source.ts';
import { readDue } from './read-due.ts';
import { settle, type Settlement } from './settle.ts';

const endpoint = 7;
const rows = 2_700;
const apiece = 900;

/** Returns how many rows and entries of indexes of the tables that match a work reads; the server counts them. */
async function readsOf(
  database: Database,
  table: string,
  work: (tx: Transaction) => Promise<unknown>,
): Promise<number> {
  return database.write(
    async (tx) => {
      await work(tx);
      const [row] = await tx.tuples(sql`
        SELECT sum(pg_stat_get_xact_tuples_returned(oid)) FROM pg_class
        WHERE relnamespace = to_regnamespace('chancery') AND relname ~ ${`^${table}(_[0-9]|$)`}`);
      return Number(row?.[0]);
    },
    { findsByKey: true },
  );
}

test('without statistics of the log, the cost of lanes and health is linear in the deliveries they walk', async (t) => {
  const database = await openLogDatabase(t, async (its) => (await openPostgresDatabase(its)).database);
  const look = { endpoint, now: 1, safe: rows, since: 0, from: 0, walkMax: 2 * rows, retriesMax: 256 };
  // So few at a time that the statistics are not made.
  for (let first = 1; first < rows; first += apiece) {
    const events = range(first, first + apiece - 1);
    await insertDeliveries(database, [endpoint, endpoint + 1], events);
    await insertOutcomes(database, { endpoint, events });
  }
  const due = await readsOf(database, 'outcome', (reader) => readDue(reader, look));
  assert.ok(due >= rows, `${due} reads for a lane`);
  assert.ok(due < 10 * rows, `${due} reads for a lane`);
  const oldest = await readsOf(database, 'outcome', readOldestPending);
  assert.ok(oldest < 10 * rows, `${oldest} reads for the oldest`);
});

test('the cost of reading a lane does not grow with the deliveries of other endpoints', async (t) => {
  const database = await openLogDatabase(t, async (its) => (await openPostgresDatabase(its)).database);
  const endpoints = range(1, 40);
  const events = range(1, 600);
  await insertDeliveries(database, endpoints, events);
  const { names } = database;
  const read = await readsOf(database, 'delivery', async (reader) => {
    for (const one of endpoints)
      await new LaneSource(0, names).read(reader, { endpoint: one, now: 1, safe: events.length });
  });
  // At most its own: the planner may read them all before it sorts, as they are few.
  assert.ok(read >= endpoints.length * 256, `${read} rows are read`);
  assert.ok(read <= endpoints.length * (events.length + 8), `${read} rows are read`);
});

test('without statistics of the log, the cost of a settlement does not grow with it', async (t) => {
  const database = await openLogDatabase(t, async (its) => (await openPostgresDatabase(its)).database);
  for (let first = 1; first < rows; first += apiece)
    await insertDeliveries(database, endpoint, range(first, first + apiece - 1));
  const settleAll = (settlements: readonly Settlement[]): Promise<number> =>
    readsOf(database, '(delivery|outcome)', (tx) => settle(tx, settlements, { now: 1, fence: sql`TRUE` }));
  const settled = range(1, 64);
  const failed = await settleAll(settled.map((event) => settlementOf(event, 'status')));
  assert.ok(failed >= settled.length, `${failed} reads for first attempts`);
  assert.ok(failed <= 16 * settled.length, `${failed} reads for first attempts`);
  for (let first = 65; first < rows; first += apiece)
    await insertOutcomes(
      database,
      { endpoint, events: range(first, Math.min(rows, first + apiece - 1)) },
      { status: 'pending', due: retryAt },
    );
  const again = await settleAll(settled.map((event) => settlementOf(event, 'success')));
  assert.ok(again >= settled.length, `${again} reads for retries`);
  assert.ok(again <= 16 * settled.length, `${again} reads for retries`);
});

const retryAt = 5;

/** A first attempt that has failed, or a retry that has succeeded. */
function settlementOf(event: number, kind: 'status' | 'success'): Settlement {
  const isSuccess = kind === 'success';
  const result: AttemptResult = { ...abortedResult(0, ''), deliveryId: `${event}`, kind, isSuccess };
  const after = isSuccess
    ? ({ status: 'delivered', attempts: 2, due: undefined, cause: '' } as const)
    : ({ status: 'pending', attempts: 1, due: retryAt, cause: '' } as const);
  const due = isSuccess ? retryAt : undefined;
  const common = {
    record: 'c/r',
    isOrdered: false,
    postponedUntil: undefined,
    isFenced: true,
    committedAt: undefined,
    batch: undefined,
  };
  return { key: { event, endpoint }, after, result, due, ...common };
}
