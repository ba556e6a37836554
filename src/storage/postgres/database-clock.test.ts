import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { MovableClock } from '../../../test/support/movable-clock.ts';
import { openPostgresDatabase } from '../../../test/support/postgres-database.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { sql, type Sql } from '../../sql/sql.ts';
import { DatabaseClock } from './database-clock.ts';
import type { Database, Tuple } from '../database.ts';

/** A way to the database that takes so long. */
function behind(database: Database, thereMs: number, backMs: number): Database {
  const tuples = async (statement: Sql): Promise<Tuple[]> => {
    await database.get(sql`SELECT pg_sleep(${thereMs / 1_000})`);
    const rows = await database.tuples(statement);
    await database.get(sql`SELECT pg_sleep(${backMs / 1_000})`);
    return rows;
  };
  return {
    engine: database.engine,
    names: database.names,
    state: () => database.state(),
    describeView: (draft) => database.describeView(draft),
    searchDraft: (statement) => database.searchDraft(statement),
    all: (statement) => database.all(statement),
    get: (statement) => database.get(statement),
    tuples,
    search: tuples,
    write: (work, options) => database.write(work, options),
    stop: () => database.stop(),
  };
}

async function open(t: TestContext): Promise<Database> {
  return (await openPostgresDatabase(t)).database;
}

test('looks over a long and uneven way move no clock that is right', async (t) => {
  const database = await open(t);
  const clock = new DatabaseClock(systemClock, { isFixed: false });
  for (const [thereMs, backMs] of [
    [200, 0],
    [0, 200],
  ] as const) {
    await clock.look(behind(database, thereMs, backMs));
    const beforeMs = systemClock.now();
    const now = clock.now();
    // Half of the way would be 100; a machine may stand still between the looks at two of its clocks.
    const isRight = now > beforeMs - 50 && now < systemClock.now() + 50;
    assert.ok(isRight, `${now - beforeMs} ms off`);
  }
});

test('a machine whose clock is wrong goes by that of the database', async (t) => {
  const database = await open(t);
  for (const wrongMs of [-3_600_000, 3_600_000]) {
    const wrong: Clock = { now: () => Date.now() + wrongMs, monotonic: () => performance.now() };
    const clock = new DatabaseClock(wrong, { isFixed: false });
    await clock.look(database);
    assert.ok(Math.abs(clock.now() - Date.now()) < 60_000);
  }
});

test('a machine whose clock is set between two looks goes by that of the database all the same', async (t) => {
  const database = await open(t);
  let setMs = 0;
  const machine: Clock = { now: () => Date.now() + setMs, monotonic: () => performance.now() };
  const clock = new DatabaseClock(machine, { isFixed: false });
  await clock.look(database);
  for (setMs of [-3_600_000, 3_600_000]) assert.ok(Math.abs(clock.now() - Date.now()) < 60_000);
});

test('the clock of a test replaces that of the database', async (t) => {
  const given = new MovableClock();
  const clock = new DatabaseClock(given, { isFixed: true });
  await clock.look(await open(t));
  assert.equal(clock.now(), given.now());
});
