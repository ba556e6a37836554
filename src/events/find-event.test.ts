import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openSqliteFile } from '../../test/support/engines.ts';
import { newTimeOrderedId } from '../base/ids.ts';
import { toTimestamp } from '../base/timestamp.ts';
import { sql } from '../sql/sql.ts';
import type { Database, InlineColumn } from '../storage/database.ts';
import { migrate } from '../storage/migrate.ts';
import { instanceMigrations } from '../storage/migrations/instance-migrations.ts';
import { findEvent, findTime } from './find-event.ts';

const start = Date.UTC(2026, 10, 20, 9, 35, 20, 114);
const hourMs = 3_600_000;
const columns: readonly InlineColumn[] = [
  ['id', 'text'],
  ['created', 'text'],
];

interface Log {
  readonly database: Database;
  /** Ids in the order of their positions, which begin at 1. */
  readonly ids: readonly string[];
}

/** Makes a log of events that were made at these times, in this order. */
async function openLog(t: TestContext, times: readonly number[]): Promise<Log> {
  const database = await openSqliteFile(t);
  await migrate(database, instanceMigrations);
  const ids = times.map((time) => newTimeOrderedId(time));
  const { names } = database;
  await database.write(async (tx) => {
    for (let first = 0; first < times.length; first += 1_000) {
      const rows = times
        .slice(first, first + 1_000)
        .map((time, index) => [ids[first + index] ?? '', toTimestamp(time)]);
      await tx.run(sql`
        INSERT INTO ${names.table('$event')} (id, kind, collection, collection_name, record, revision, created, body)
        SELECT id, 'record.create', 'c', 'posts', 'r', 1, created, x'' FROM ${names.valuesTable(columns, rows)} WHERE TRUE`);
    }
  });
  return { database, ids };
}

function timesFrom(first: number, count: number, stepMs: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => first + index * stepMs);
}

async function assertFound({ database, ids }: Log, positions: readonly number[]): Promise<void> {
  const found = await Promise.all(positions.map((position) => findEvent(database, ids[position - 1] ?? '')));
  assert.deepEqual(found, positions);
}

test('an event is found among many, at both ends of the log, and where others were deleted', async (t) => {
  const log = await openLog(t, timesFrom(start, 8_000, 250));
  await assertFound(log, [1, 2, 3_999, 4_000, 7_999, 8_000]);
  await log.database.write((tx) =>
    tx.run(sql`DELETE FROM ${tx.names.table('$event')} WHERE position < 100 OR position % 7 > 0`),
  );
  await assertFound(log, [105, 4_004, 7_994]);
  assert.equal(await findEvent(log.database, log.ids[0] ?? ''), undefined);
});

test('among more events of one millisecond than are read together, each is found', async (t) => {
  const log = await openLog(t, timesFrom(start, 11_000, 0));
  await assertFound(log, [1, 5_000, 5_001, 11_000]);
});

test('events that nodes whose clocks are apart have made are found', async (t) => {
  const times = timesFrom(start, 1_000, 100).map((time, index) => (index % 2 === 0 ? time : time - 4_000));
  await assertFound(await openLog(t, times), [1, 2, 499, 500, 999, 1_000]);
});

test('after the clock was set back by an hour, events from before and after are found', async (t) => {
  const before = timesFrom(start, 1_000, 1_000);
  const log = await openLog(t, [...before, ...timesFrom(start - hourMs, 1_500, 1_000)]);
  await assertFound(log, [1, 500, 1_000, 1_001, 1_700, 2_500]);
});

test('an id that is not in the log, or is no id, finds nothing', async (t) => {
  const { database, ids } = await openLog(t, timesFrom(start, 20, 1_000));
  const unknown = [-hourMs, 0, 10_500, hourMs].map((afterMs) => newTimeOrderedId(start + afterMs));
  const [known = ''] = ids;
  const malformed = ['', 'x', known.slice(1), `${known}0`, known.toUpperCase(), `${known.slice(1)}'`];
  for (const id of [...unknown, ...malformed, 'z'.repeat(20)])
    assert.equal(await findEvent(database, id), undefined, id);
});

test('an empty log has no event', async (t) => {
  const { database } = await openLog(t, []);
  assert.equal(await findEvent(database, newTimeOrderedId(start)), undefined);
});

test('before the position of a time there is no event of that time or later, and all before it are at or before it', async (t) => {
  const { database } = await openLog(t, timesFrom(start, 100, 1_000));
  const at = (afterMs: number): Promise<number> => findTime(database, toTimestamp(start + afterMs));
  assert.equal(await at(-1), 0);
  assert.equal(await at(0), 0);
  assert.equal(await at(1), 1);
  assert.equal(await at(50_000), 50);
  assert.equal(await at(50_001), 51);
  assert.equal(await at(hourMs), 100);
});
