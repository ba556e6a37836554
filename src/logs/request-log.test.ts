import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '../base/clock.ts';
import { defaultSettings, type Settings } from '../settings/settings.ts';
import { migrate } from '../storage/migrate.ts';
import { logMigrations } from '../storage/migrations/log-migrations.ts';
import type { Database } from '../storage/database.ts';
import { sql } from '../sql/sql.ts';
import { eventually } from '../../test/support/eventually.ts';
import { openSqliteFile } from '../../test/support/engines.ts';
import { type LogEntry, logLevels, logLimits, RequestLog } from './request-log.ts';

const { info, warn, error } = logLevels;

describe('a log of requests', () => {
  test('limits entries per second, counts the others, and reserves space for errors', async (t) => {
    const { database, log } = await openLog(t);
    const taken = [info, warn, error].map((level) => noteMany(log, level));
    const { bufferedMax, keptForRefusals, keptForFailures } = logLimits;
    assert.deepEqual(taken, [
      bufferedMax - keptForRefusals - keptForFailures,
      keptForRefusals,
      keptForFailures,
    ]);
    await log.table();
    const remark = await database.all(
      sql`SELECT level, message, data FROM "$log" WHERE message LIKE '%not logged.'`,
    );
    const missed = 3 * 500 - bufferedMax;
    assert.deepEqual(
      remark.map((row) => ({ ...row })),
      [
        {
          level: warn,
          message: `${missed} more requests were not logged.`,
          data: `{"missed":${missed},"type":"log"}`,
        },
      ],
    );
    assert.equal(await countOf(database), bufferedMax + 1);
    assert.equal(noteMany(log, error), bufferedMax, 'there is room again');
  });

  test('notes nothing below its level, and nothing at all for no days', async (t) => {
    const { log, settings } = await openLog(t);
    settings.current = withLogs({ minLevel: warn });
    assert.deepEqual([log.wants(info), log.wants(warn), log.wants(error)], [false, true, true]);
    settings.current = withLogs({ maxDays: 0 });
    assert.deepEqual([log.wants(info), log.wants(warn), log.wants(error)], [false, false, false]);
  });

  test('keeps the newest of more entries than it may have', async (t) => {
    const { database, log } = await openLog(t);
    await database.write((tx) =>
      tx.run(sql`
        WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ${logLimits.rowsMax + 5})
        INSERT INTO "$log" SELECT printf('%015d', n), '9999-01-01 00:00:00.000Z', 0, 'x', '{}' FROM counted`),
    );
    await log.table();
    assert.equal(await countOf(database), logLimits.rowsMax);
    assert.equal((await database.get(sql`SELECT min(id) AS id FROM "$log"`))?.['id'], '000000000000006');
  });

  test('that cannot be written fails no request, and reports how many entries it lost', async (t) => {
    const told: string[] = [];
    const opened = await openLog(t, (message) => told.push(message));
    const { log, database, opening } = opened;
    opening.error = new Error('no such disk');
    log.note(entry(info));
    log.note(entry(info));
    await assert.rejects(log.table(), /no such disk/);
    assert.deepEqual(told, ['Requests could not be logged; retrying in 10 s.']);
    opening.error = undefined;
    log.note(entry(info));
    await log.table();
    const rows = await database.all(sql`SELECT message FROM "$log" ORDER BY id`);
    assert.deepEqual(
      rows.map(({ message }) => message),
      ['GET /', '2 more requests were not logged.'],
    );
  });

  test('is cleared when logging is disabled', async (t) => {
    const { database, log, settings } = await openLog(t);
    log.note(entry(info));
    await log.table();
    assert.equal(await countOf(database), 1);
    settings.current = withLogs({ maxDays: 0 });
    log.wants(info);
    await eventually('it is gone', async () => (await countOf(database)) === 0);
  });

  test('is written when it stops', async (t) => {
    const { database, log } = await openLog(t);
    log.note(entry(info));
    const other = await openSqliteFile(t, database);
    await log.stop();
    assert.equal(await countOf(other), 1);
  });
});

async function openLog(
  t: Parameters<typeof openSqliteFile>[0],
  warning: (message: string) => void = () => assert.fail('nothing is to be told'),
): Promise<{
  readonly database: Database;
  readonly log: RequestLog;
  readonly settings: { current: Settings };
  readonly opening: { error: Error | undefined };
}> {
  const database = await openSqliteFile(t);
  await migrate(database, logMigrations);
  const settings = { current: withLogs({}) };
  const opening: { error: Error | undefined } = { error: undefined };
  const log = new RequestLog({
    open: async () => {
      if (opening.error !== undefined) throw opening.error;
      return database;
    },
    settings,
    clock: systemClock,
    logger: { debug: warning, info: warning, warn: warning, error: warning },
  });
  // A test may have stopped it itself, and the database with it.
  t.after(() => log.stop().catch(() => undefined));
  return { database, log, settings, opening };
}

function withLogs(logs: Partial<Settings['logs']>): Settings {
  return { ...defaultSettings, logs: { ...defaultSettings.logs, ...logs } };
}

/** How many of five hundred were wanted. */
function noteMany(log: RequestLog, level: number): number {
  let taken = 0;
  for (let asked = 0; asked < 500; asked += 1) {
    if (!log.wants(level)) continue;
    log.note(entry(level));
    taken += 1;
  }
  return taken;
}

function entry(level: number): LogEntry {
  return { at: systemClock.now(), level, message: 'GET /', data: {} };
}

async function countOf(database: Database): Promise<number> {
  return Number((await database.get(sql`SELECT count(*) AS total FROM "$log"`))?.['total']);
}
