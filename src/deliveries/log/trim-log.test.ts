import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { recordedDatabase } from '../../../test/plans/recorded-database.ts';
import { describeEngines } from '../../../test/support/engines.ts';
import {
  insertDeliveries,
  insertEvents,
  insertOutcomes,
  openLogDatabase,
  range,
} from '../../../test/support/log-rows.ts';
import { deliveryKeys } from '../../../test/support/delivery-rows.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import { sql, type Sql } from '../../sql/sql.ts';
import type { Database } from '../../storage/database.ts';
import type { InternalTable } from '../../storage/internal-table.ts';
import { openLane } from '../lane-store.ts';
import { insertGap } from '../skip-waiting.ts';
import { moveCursors } from './move-cursors.ts';
import { hasUnneeded, trimLog, type TrimmedCount, trimUnneeded } from './trim-log.ts';

/** What was made then is too old, and what was made later is not. */
const old = 1_000_000;
const before = 2_000_000;
const young = 3_000_000;
const dueClock = { now: () => 4_000_000, monotonic: () => 0 };

/** Inserts events with a delivery for each of these endpoints. */
async function tell(
  database: Database,
  positions: readonly number[],
  { created = old, endpoints = [1] }: { readonly created?: number; readonly endpoints?: readonly number[] },
): Promise<void> {
  await insertEvents(
    database,
    positions.map((position) => ({ position, id: `event${position}`, created })),
  );
  await insertDeliveries(database, endpoints, positions);
}

/** Stores attempts of the deliveries to endpoint 1. */
async function insertAttempts(
  database: Database,
  events: readonly number[],
  attemptsOfEach: number,
): Promise<void> {
  const { names } = database;
  const into = sql`${names.table('$attempt')} (${names.instance.column}event, endpoint, number, started, kind, cause, total_ms, response_headers, response_body)`;
  const numbers = sql`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${attemptsOfEach})`;
  await database.write((tx) =>
    tx.run(sql`
      INSERT INTO ${into}
      ${numbers} SELECT ${names.instance.value}d.event, 1, i, '', 'status', '', 1, '{}', ${new Uint8Array()}
      FROM ${names.table('$delivery')} d JOIN n ON TRUE
      WHERE ${names.instance.conditionOf('d')} AND d.endpoint = 1 AND d.event${names.anyNumberOf(events)}`),
  );
}

async function openLanes(database: Database, cursors: Readonly<Record<number, number>>): Promise<void> {
  const { names } = database;
  for (const [endpoint, cursor] of Object.entries(cursors))
    await database.write(async (tx) => {
      await openLane(tx, Number(endpoint));
      await tx.run(sql`
        UPDATE ${names.table('$lane')} SET cursor = ${cursor} WHERE ${names.instance.condition} AND endpoint = ${Number(endpoint)}`);
    });
}

async function cursors(database: Database): Promise<Readonly<Record<number, number>>> {
  const { names } = database;
  const rows = await database.tuples(
    sql`SELECT endpoint, cursor FROM ${names.table('$lane')} WHERE ${names.instance.condition}`,
  );
  return Object.fromEntries(rows.map(([endpoint, cursor]) => [Number(endpoint), Number(cursor)]));
}

/** The positions of events in a table, each once. */
async function positions(database: Database, table: InternalTable): Promise<readonly number[]> {
  const { names } = database;
  const position = table === '$event' ? sql`position` : sql`event`;
  const rows = await database.tuples(
    sql`SELECT DISTINCT ${position} FROM ${names.table(table)} WHERE ${names.instance.condition} ORDER BY ${position}`,
  );
  return rows.map(([at]) => Number(at));
}

/** Trims until nothing is old; returns what each work has deleted. */
async function trimAll(database: Database): Promise<readonly TrimmedCount[]> {
  const works: TrimmedCount[] = [];
  for (let from = 0; ; from = works.at(-1)?.last ?? from) {
    const trimmed = await trimLog({ database, dueClock }, { before, from });
    if (trimmed.events === 0) return works;
    works.push(trimmed);
  }
}

const eventsOf = (works: readonly TrimmedCount[]): readonly number[] => works.map(({ events }) => events);

describeEngines('trimming the log', (open) => {
  const openLog = (t: TestContext): Promise<Database> => openLogDatabase(t, open);

  test('trimming deletes older events with their deliveries, 500 in a transaction', async (t) => {
    const plain = await openLog(t);
    const statements: string[] = [];
    const database = recordedDatabase(plain, ({ text }) => void statements.push(text));
    await openLanes(plain, { 1: 1_203 });
    await tell(plain, range(1, 1_200), {});
    await tell(plain, range(1_201, 1_203), { created: young });
    await insertOutcomes(plain, { endpoint: 1, events: range(1, 1_203) });
    await insertAttempts(plain, range(1, 1_203), 1);
    const counts: number[] = [];
    for (const [events, from, last] of [
      [500, 0, 500],
      [500, 500, 1_000],
      [200, 1_000, 1_200],
      [0, 1_200, 1_200],
    ] as const) {
      statements.length = 0;
      assert.deepEqual(await trimLog({ database, dueClock }, { before, from }), { events, expired: 0, last });
      counts.push(statements.length);
    }
    assert.ok(counts[0] !== undefined && counts[0] < 12, `${counts[0]} statements`);
    assert.deepEqual(counts.slice(0, 3), [counts[0], counts[0], counts[0]]);
    for (const table of ['$event', '$delivery', '$outcome', '$attempt'] as const)
      assert.deepEqual(await positions(plain, table), range(1_201, 1_203), table);
  });

  test('a log that is too large loses its oldest events, up to the first one that is needed', async (t) => {
    const limits = { before, safe: Number.MAX_SAFE_INTEGER, bytes: 1_000 };
    const database = await openLog(t);
    const { names } = database;
    const replay = (values: Sql): Promise<number> =>
      database.write((tx) =>
        tx.run(sql`
          INSERT INTO ${names.table('$replay')} (${names.instance.column}id, endpoint, scope, collection, log_end, first, last, is_descending, rate,
            filter, cursor, total, taken, state, created, updated)
          VALUES (${names.instance.value}${values}, '', '')`),
      );
    const end = (): Promise<number> =>
      database.write((tx) =>
        tx.run(sql`UPDATE ${names.table('$replay')} SET state = 'done' WHERE ${names.instance.condition}`),
      );
    await openLanes(database, { 1: 20, 2: 0 });
    await tell(database, range(1, 9), {});
    await tell(database, range(10, 20), { created: young });
    await insertOutcomes(database, { endpoint: 1, events: range(1, 20) });
    // Every event has two bytes.
    assert.deepEqual(await trimUnneeded({ database }, { ...limits, bytes: 3 }), { events: 2, bytes: 4 });
    await replay(sql`'ascending', 1, 'all', '', 0, 1, 20, 0, 0, '', 3, 0, 0, 'running'`);
    assert.deepEqual(await trimUnneeded({ database }, limits), { events: 1, bytes: 2 });
    assert.equal(await hasUnneeded(database, limits), false);
    await end();
    await replay(sql`'descending', 1, 'all', '', 0, 5, 20, 1, 0, '', 19, 0, 0, 'running'`);
    assert.deepEqual(await trimUnneeded({ database }, limits), { events: 1, bytes: 2 });
    await end();
    // One that has no outcome yet, and one that is to be sent again.
    await insertDeliveries(database, [2], [6]);
    assert.deepEqual(await trimUnneeded({ database }, limits), { events: 1, bytes: 2 });
    assert.equal(await hasUnneeded(database, limits), false);
    await insertOutcomes(database, { endpoint: 2, events: [6] }, { status: 'pending' });
    assert.equal(await hasUnneeded(database, limits), false);
    await database.write((tx) =>
      tx.run(
        sql`UPDATE ${names.table('$outcome')} SET status = 'exhausted' WHERE ${names.instance.condition} AND endpoint = 2`,
      ),
    );
    assert.deepEqual(await trimUnneeded({ database }, { ...limits, safe: 7 }), { events: 2, bytes: 4 });
    // The others are too young.
    assert.deepEqual(await trimUnneeded({ database }, limits), { events: 2, bytes: 4 });
    assert.deepEqual(await trimUnneeded({ database }, limits), { events: 0, bytes: 0 });
    for (const table of ['$event', '$delivery', '$outcome'] as const)
      assert.deepEqual(await positions(database, table), range(10, 20), table);
  });

  test('trimming deletes at most some thousand deliveries in a transaction', async (t) => {
    const database = await openLog(t);
    await tell(database, range(1, 150), { endpoints: range(1, 30) });
    await tell(database, [151], { endpoints: range(1, 3_000) });
    await tell(database, [152, 153], {});
    assert.deepEqual(eventsOf(await trimAll(database)), [68, 68, 14, 1, 2]);
    assert.deepEqual(await deliveryKeys(database), []);
  });

  test('trimming deletes at most some thousand attempts in a transaction', async (t) => {
    const database = await openLog(t);
    await tell(database, range(1, 100), {});
    await insertAttempts(database, range(1, 100), 50);
    assert.deepEqual(eventsOf(await trimAll(database)), [40, 40, 20]);
    assert.deepEqual(await positions(database, '$attempt'), []);
  });

  test('trimming returns how many pending deliveries it deleted, and moves cursors behind them', async (t) => {
    const database = await openLog(t);
    // One of them is told of little, and one is deleted.
    await openLanes(database, { 1: 2, 2: 0, 3: 6 });
    await tell(database, range(1, 5), { endpoints: [1, 4] });
    await tell(database, [6], { created: young, endpoints: [1, 3] });
    await insertOutcomes(database, { endpoint: 1, events: [1, 4] });
    await insertOutcomes(database, { endpoint: 1, events: [2] }, { status: 'pending', due: 1 });
    await insertOutcomes(database, { endpoint: 4, events: [3] }, { status: 'pending', due: 1 });
    assert.deepEqual(await trimAll(database), [{ events: 5, expired: 3, last: 5 }]);
    assert.deepEqual(await cursors(database), { 1: 5, 2: 5, 3: 6 });
    assert.deepEqual(await deliveryKeys(database), [
      { event: 6, endpoint: 1 },
      { event: 6, endpoint: 3 },
    ]);
  });

  test('trimming keeps a gap that covers remaining deliveries', async (t) => {
    const database = await openLog(t);
    await tell(database, range(1, 5), {});
    await tell(database, range(6, 9), { created: young });
    const gap = { endpoint: 1, cause: '', now: toTimestamp(old) };
    await database.write(async (tx) => {
      await insertGap(tx, { ...gap, first: 1, last: 5 });
      await insertGap(tx, { ...gap, endpoint: 2, first: 4, last: 6 });
      await insertGap(tx, { ...gap, endpoint: 3, first: 5, last: Number.MAX_SAFE_INTEGER });
    });
    await trimAll(database);
    const { names } = database;
    const left = await database.tuples(
      sql`SELECT endpoint, first, last FROM ${names.table('$gap')} WHERE ${names.instance.condition} ORDER BY endpoint`,
    );
    assert.deepEqual(left, [
      [2, 4, 6],
      [3, 5, Number.MAX_SAFE_INTEGER],
    ]);
  });
});

describeEngines('moving cursors', (open) => {
  const openLog = (t: TestContext): Promise<Database> => openLogDatabase(t, open);
  const move = (database: Database, safe = Number.MAX_SAFE_INTEGER): Promise<void> =>
    moveCursors(database, { safeFor: () => safe, isEnding: () => false });

  test('a cursor advances over events of other endpoints and outcomes, up to the first pending delivery', async (t) => {
    const database = await openLog(t);
    await openLanes(database, { 1: 0, 2: 0, 3: 0, 4: 9 });
    await insertDeliveries(database, [1, 2], range(1, 8));
    await insertOutcomes(database, { endpoint: 1, events: [1, 2, 3, 5] });
    await insertOutcomes(database, { endpoint: 2, events: range(1, 8) });
    await move(database);
    assert.deepEqual(await cursors(database), { 1: 3, 2: 8, 3: 8, 4: 9 });
  });

  test('a cursor stops where an event may still appear', async (t) => {
    const database = await openLog(t);
    await openLanes(database, { 1: 0, 2: 0 });
    await insertDeliveries(database, 9, range(1, 8));
    await insertDeliveries(database, 1, [4]);
    await move(database, 6);
    assert.deepEqual(await cursors(database), { 1: 3, 2: 6 });
  });

  test('cursors advance in parts, and stop with the service', async (t) => {
    const database = await openLog(t);
    const events = range(1, 17_000);
    await openLanes(database, { 1: 0 });
    await insertDeliveries(database, 1, events);
    await insertOutcomes(database, { endpoint: 1, events });
    await moveCursors(database, { safeFor: () => Number.MAX_SAFE_INTEGER, isEnding: () => true });
    assert.deepEqual(await cursors(database), { 1: 0 });
    await move(database);
    assert.deepEqual(await cursors(database), { 1: 16_384 });
    await move(database);
    assert.deepEqual(await cursors(database), { 1: 17_000 });
  });

  test('a cursor advances over any number of deliveries to other endpoints at once', async (t) => {
    const database = await openLog(t);
    await openLanes(database, { 1: 0 });
    await insertDeliveries(database, 9, range(1, 70_000));
    await move(database);
    assert.deepEqual(await cursors(database), { 1: 70_000 });
  });
});
