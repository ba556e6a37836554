import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Actor } from '../../src/logs/audit-entry.ts';
import { auditLimits, AuditLog, auditTalliesMax } from '../../src/logs/audit-log.ts';
import type { LogMembers } from '../../src/base/logger.ts';
import { guest } from '../../src/access/caller.ts';
import { sql } from '../../src/sql/sql.ts';
import type { Database } from '../../src/storage/database.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { instanceMigrations } from '../../src/storage/migrations/instance-migrations.ts';
import { postgresMigrations } from '../../src/storage/migrations/postgres-migrations.ts';
import { describeEngines } from '../support/engines.ts';
import { eventually } from '../support/eventually.ts';
import { FaultyDatabase } from '../support/faulty-database.ts';
import { MovableClock } from '../support/movable-clock.ts';

const refusal = { action: 'sign-in', outcome: 'refused', collection: 'users' } as const;
const dayMs = 86_400_000;
/** Longer than any test: what is written is written at once, or by settling. */
const pauseMsLong = 3_600_000;

function guestAt(address: string): Actor {
  return { caller: guest, origin: () => ({ address, network: '', signal: undefined, requestId: 'x' }) };
}

describeEngines('the audit log', (open, engine) => {
  async function openLog(
    t: TestContext,
    { auditDays = 90, clock = new MovableClock(), same, pauseMs = pauseMsLong }: LogOptions = {},
  ): Promise<Opened> {
    const opened = await open(t, same);
    await migrate(opened, engine === 'sqlite' ? instanceMigrations : postgresMigrations);
    const database = new FaultyDatabase(opened);
    const told: string[] = [];
    const tell = (message: string, { error: _error, ...members }: LogMembers = {}): void =>
      void told.push(`${message} ${JSON.stringify(members)}`);
    const logger = { debug: tell, info: tell, warn: tell, error: tell };
    const log = new AuditLog({ id: 'i1', database, clock, auditDays, logger }, pauseMs);
    return { opened, database, clock, log, told };
  }

  test('who comes from more addresses than a minute has room for shares one row', async (t) => {
    const { database, log } = await openLog(t);
    const { talliesMax } = auditLimits;
    for (let at = 0; at < talliesMax + 5; at += 1) log.note(guestAt(`address ${at}`), refusal);
    log.note(guestAt('address 0'), refusal);
    await log.settle();
    const rows = await rowsOf(database);
    assert.equal(rows.length, talliesMax + 1);
    assert.deepEqual(rows.filter(({ address }) => address === '').map(brief), [['sign-in', 5]]);
    assert.deepEqual(rows.filter(({ address }) => address === 'address 0').map(brief), [['sign-in', 2]]);
  });

  test('a flood is written by few commits, and each minute begins a row', async (t) => {
    const { database, log, clock } = await openLog(t);
    for (let times = 0; times < 10_000; times += 1) log.note(guestAt('one'), refusal);
    clock.move(60_000);
    for (let times = 0; times < 10_000; times += 1) log.note(guestAt('one'), refusal);
    await log.settle();
    assert.ok(database.options.length <= 2, `${database.options.length} commits`);
    assert.deepEqual((await rowsOf(database)).map(brief), [
      ['sign-in', 10_000],
      ['sign-in', 10_000],
    ]);
  });

  test('what several nodes count in a minute is added up', async (t) => {
    const clock = new MovableClock();
    const one = await openLog(t, { clock });
    const other = await openLog(t, { clock, same: one.opened });
    for (const { log } of [one, other]) for (const at of ['a', 'b', 'c']) log.note(guestAt(at), refusal);
    await Promise.all([one.log.settle(), other.log.settle()]);
    assert.deepEqual((await rowsOf(one.database)).map(brief), [
      ['sign-in', 2],
      ['sign-in', 2],
      ['sign-in', 2],
    ]);
  });

  test('what could not be written is tried again, and the operator is told of each time', async (t) => {
    const { database, log, told } = await openLog(t, { pauseMs: 1 });
    database.canWrite = false;
    log.note(guestAt('one'), refusal);
    await eventually('it is refused', () => database.refusedCount > 0);
    log.note(guestAt('one'), refusal);
    await eventually('it is refused again', () => database.refusedCount > 2);
    database.canWrite = true;
    await eventually('both are written', async () => (await rowsOf(database)).length > 0);
    assert.deepEqual((await rowsOf(database)).map(brief), [['sign-in', 2]]);
    const line =
      'The audit log could not be written; trying again in 0.01 s at the latest. {"instance":"i1"}';
    assert.deepEqual(
      told,
      Array.from({ length: database.refusedCount }, () => line),
    );
  });

  test('a stop tries once more to write what could not be written, and tells what is lost', async (t) => {
    for (const canWrite of [true, false]) {
      const { database, log, told } = await openLog(t);
      database.canWrite = false;
      log.note(guestAt('one'), refusal);
      await eventually('it is refused', () => database.refusedCount === 1);
      log.note(guestAt('two'), refusal);
      database.canWrite = canWrite;
      await log.settle();
      assert.equal((await rowsOf(database)).length, canWrite ? 2 : 0);
      const lost = told.filter((line) => line.includes('lost'));
      assert.deepEqual(
        lost,
        canWrite ? [] : ['Entries of the audit log are lost. {"instance":"i1","lost":2}'],
      );
    }
  });

  test('while nothing can be written so much is kept in memory, and no more', async (t) => {
    const { database, log, clock } = await openLog(t);
    const { talliesMax, unwrittenMax } = auditLimits;
    database.canWrite = false;
    for (let minute = 0; minute < unwrittenMax / talliesMax + 2; minute += 1) {
      for (let at = 0; at < talliesMax; at += 1) log.note(guestAt(`address ${at}`), refusal);
      await log.settle();
      clock.move(60_000);
    }
    database.canWrite = true;
    log.note(guestAt('address 0'), refusal);
    await log.settle();
    assert.equal((await rowsOf(database)).length, unwrittenMax);
  });

  test('after a write the next one waits a while, but not for a stop', async (t) => {
    const { database, log } = await openLog(t);
    log.note(guestAt('one'), refusal);
    await eventually('the first is written', async () => (await rowsOf(database)).length === 1);
    log.note(guestAt('two'), refusal);
    assert.equal(database.options.length, 1);
    await log.settle();
    assert.equal((await rowsOf(database)).length, 2);
  });

  test('entries are kept for as many days as the operator says, for ever where that is none', async (t) => {
    for (const [auditDays, left] of [
      [90, ['settings.update', 'key.create']],
      [0, ['collection.create', 'settings.update', 'key.create']],
    ] as const) {
      const { database, log, clock } = await openLog(t, { auditDays });
      const append = (action: 'collection.create' | 'settings.update' | 'key.create'): Promise<void> =>
        database.write((tx) => log.append(tx, 'operator', { action }));
      await append('collection.create');
      await log.settle();
      clock.move(dayMs);
      await append('settings.update');
      await log.settle();
      clock.move(89 * dayMs + 1);
      await append('key.create');
      await log.settle();
      assert.deepEqual(
        (await rowsOf(database)).map(({ action }) => action),
        left,
      );
      // Where all is kept, nothing is looked for that is too old.
      assert.equal(database.options.length, auditDays === 0 ? 3 : 6);
    }
  });

  test('of what strangers can cause so much is kept, and all that superusers did', async (t) => {
    const { database, log, clock } = await openLog(t);
    await database.write((tx) => log.append(tx, 'operator', { action: 'key.create' }));
    await log.settle();
    await fill(database, auditTalliesMax + 5);
    clock.move(60_000);
    log.note(guestAt('the last'), refusal);
    await log.settle();
    const [row] = await database.tuples(sql`
      SELECT sum(tallied), sum(1 - tallied), max(address) FROM ${database.names.table('$audit')} WHERE ${database.names.instance.condition}`);
    assert.deepEqual(row?.map(String), [String(auditTalliesMax), '1', 'the last']);
  });

  test('details that are too long are left out, and what they are of is not', async (t) => {
    const { database, log } = await openLog(t);
    const details = { text: 'x'.repeat(auditLimits.detailsBytesMax) };
    await database.write((tx) => log.append(tx, 'operator', { action: 'key.create', details }));
    const [row] = await rowsOf(database);
    assert.deepEqual([row?.['action'], row?.['details']], ['key.create', '{"isTooLong":true}']);
  });
});

interface LogOptions {
  readonly auditDays?: number;
  readonly clock?: MovableClock;
  readonly same?: Database;
  readonly pauseMs?: number;
}

interface Opened {
  readonly opened: Database;
  readonly database: FaultyDatabase;
  readonly clock: MovableClock;
  readonly log: AuditLog;
  /** What the operator was told. */
  readonly told: readonly string[];
}

type Row = Readonly<Record<string, unknown>>;

function rowsOf(database: Database): Promise<readonly Row[]> {
  const { names } = database;
  return database.all(
    sql`SELECT * FROM ${names.table('$audit')} WHERE ${names.instance.condition} ORDER BY position`,
  );
}

function brief({ action, count }: Row): readonly unknown[] {
  return [action, Number(count)];
}

/** Tallied rows of no address, all at once. */
async function fill(database: Database, count: number): Promise<void> {
  const { names } = database;
  const numbers = sql`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST(${count} AS integer))`;
  const now = '2026-11-20 09:35:20.114Z';
  await database.write((tx) =>
    tx.run(sql`
      ${numbers} INSERT INTO ${names.table('$audit')} (${names.instance.column}id, tallied, created, until, count, action, outcome, actor,
        actor_id, address, request, collection, target, details)
      SELECT ${names.instance.value}'filled ' || CAST(i AS text), 1, ${now}, ${now}, 1, 'sign-in', 'refused', 'guest', '', '', '', '', '', '{}' FROM n`),
  );
}
