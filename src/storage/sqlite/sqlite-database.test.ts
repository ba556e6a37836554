import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { startChild } from '../../../test/support/child.ts';
import { countCommits } from '../../../test/support/count-commits.ts';
import { fileOf, openSqliteFile } from '../../../test/support/engines.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { AppError } from '../../base/errors.ts';
import { identifier, joinSql, limit, sql } from '../../sql/sql.ts';
import type { BulkInsert, Database } from '../database.ts';
import { openSqlite } from './sqlite-database.ts';
import { sqliteVersion } from './sqlite-version.ts';

test('works of one turn share one commit', async (t) => {
  const database = await openNumbers(t);
  assert.equal(await commitsOf(database, () => add(database, 100)), 1);
});

test('a group has at most 512 works, and the next one the rest', async (t) => {
  const database = await openNumbers(t);
  assert.equal(await commitsOf(database, () => add(database, 513)), 2);
});

test('a group that has taken long begins no more works, so that others have their turn', async (t) => {
  const database = await openNumbers(t);
  const slow = (): Promise<unknown> =>
    database.write((tx) => {
      spin(300);
      return tx.run(sql`INSERT INTO t VALUES (1)`);
    });
  assert.equal(await commitsOf(database, () => Promise.all([slow(), slow(), slow()])), 3);
});

test('a work that such a group has not begun is run by the next, also behind rows that are inserted at the end', async (t) => {
  const database = await openNumbers(t);
  const numbers: BulkInsert<number> = {
    tables: ['$event'],
    bytesOf: () => 8,
    write: async (tx, rows) => {
      for (const row of rows) await tx.run(sql`INSERT INTO t VALUES (${row})`);
      tx.afterCommit(() => inserted.push(...rows));
    },
  };
  const inserted: number[] = [];
  const slow = (number: number): Promise<number> =>
    database.write(async (tx) => {
      spin(300);
      await tx.insertLater(numbers, number);
      return number;
    });
  assert.deepEqual(await Promise.all([1, 2, 3].map(slow)), [1, 2, 3]);
  assert.deepEqual(inserted, [1, 2, 3]);
  assert.deepEqual(await database.tuples(sql`SELECT * FROM t`), [[1], [2], [3]]);
});

test('works of neighbouring turns share a commit when as many were answered before', async (t) => {
  const database = await openNumbers(t);
  await addSlowly(database, 6);
  assert.equal(await commitsOf(database, () => addInTurns(database, { works: 6 })), 1);
});

test('a group waits for no more works than were answered before', async (t) => {
  const database = await openNumbers(t);
  await addSlowly(database, 3);
  assert.ok((await commitsOf(database, () => addInTurns(database, { works: 6 }))) > 1);
});

test('a group does not wait after a turn without new works', async (t) => {
  const database = await openNumbers(t);
  await addSlowly(database, 6);
  assert.equal(await commitsOf(database, () => addInTurns(database, { works: 2, calmTurns: 2 })), 2);
});

test('a group waits no longer than the group before took', async (t) => {
  const database = await openNumbers(t);
  const startMs = performance.now();
  await add(database, 6);
  const tookMs = performance.now() - startMs;
  const commits = await commitsOf(database, () =>
    addInTurns(database, { works: 6, inTurn: () => spin(tookMs) }),
  );
  assert.ok(commits > 1);
});

test('works that fail, early or late, do not split the commit of the others', async (t) => {
  const database = await openNumbers(t);
  const failing = (isLate: boolean): Promise<unknown> =>
    database
      .write(async (tx) => {
        if (isLate) await tx.run(sql`INSERT INTO t VALUES (-1)`);
        throw new Error('on purpose');
      })
      .catch(() => undefined);
  for (const isLate of [false, true, true]) {
    const commits = await commitsOf(database, () =>
      Promise.all([add(database, 10), failing(isLate), add(database, 10)]),
    );
    assert.equal(commits, 1);
  }
  assert.deepEqual(await count(database), { rows: 60, failed: 0 });
});

test('an exclusive work shares its commit with no other', async (t) => {
  const database = await openNumbers(t);
  const exclusive = (): Promise<unknown> =>
    database.write((tx) => tx.run(sql`INSERT INTO t VALUES (1)`), { isExclusive: true });
  const works = (): Promise<unknown> =>
    Promise.all([add(database, 3), exclusive(), exclusive(), add(database, 3)]);
  assert.equal(await commitsOf(database, works), 4);
});

test('a file that another process has locked for longer than five seconds answers as unavailable', async (t) => {
  const database = await openNumbers(t);
  const holder = await startChild(t, 'test/engines/hold-lock.ts', ['writer', fileOf(database)]);
  assert.equal(holder.line, 'held');
  const startMs = performance.now();
  await assert.rejects(add(database, 1), (error) => {
    assert.ok(error instanceof AppError);
    assert.equal(error.code, 'unavailable');
    assert.equal(error.retryAfter, 1);
    return true;
  });
  assert.ok(performance.now() - startMs > 4_000);
  // Whoever only reads is not kept waiting.
  assert.deepEqual(await count(database), { rows: 0, failed: 0 });
  await holder.kill();
  await add(database, 1);
});

test('opening a file waits for the process that is creating it', async (t) => {
  const file = join(temporaryFolder(t), 'new.db');
  const maker = await startChild(t, 'test/engines/hold-lock.ts', ['writer', file, '500']);
  assert.equal(maker.line, 'held');
  const database = openSqlite({ path: file });
  t.after(() => database.stop());
  assert.deepEqual({ ...(await database.get(sql`PRAGMA journal_mode`)) }, { journal_mode: 'wal' });
});

test('reading the state of the log reveals no commit that is not on the disk', async (t) => {
  const database = openSqlite({ path: join(temporaryFolder(t), 'data.db') });
  t.after(() => database.stop());
  await database.write((tx) => tx.run(sql`CREATE TABLE t (number INTEGER NOT NULL)`));
  for (let written = 0; written < 20; written += 1) {
    const progress = { isOver: false };
    const adding = add(database, 1).finally(() => (progress.isOver = true));
    while (!progress.isOver) {
      database.logState();
      assert.deepEqual(await count(database), { rows: written, failed: 0 });
      await nextTurn();
    }
    await adding;
  }
});

test('the log begins anew while it is written to all the time', async (t) => {
  const path = join(temporaryFolder(t), 'data.db');
  const database = openSqlite({ path });
  t.after(() => database.stop());
  await database.write((tx) => tx.run(sql`CREATE TABLE t (text TEXT NOT NULL)`));
  const text = 'x'.repeat(1_000_000);
  for (let megabytes = 0; megabytes < 60; megabytes += 1)
    await database.write((tx) => tx.run(sql`INSERT INTO t VALUES (${text})`));
  // It is copied into the file at 16 MB.
  const { size } = statSync(`${path}-wal`);
  assert.ok(size < 20_000_000, `the log has ${size} bytes`);
});

test('a reader cannot write, and schema functions are not trusted', async (t) => {
  const database = await openNumbers(t);
  await assert.rejects(database.all(sql`INSERT INTO t VALUES (1) RETURNING number`));
  assert.deepEqual({ ...(await database.get(sql`PRAGMA trusted_schema`)) }, { trusted_schema: 0 });
  assert.deepEqual({ ...(await database.get(sql`PRAGMA cell_size_check`)) }, { cell_size_check: 1 });
});

test('Q-55 statements that all differ are held by their length, and closed when they are dropped', async (t) => {
  const database = await openNumbers(t);
  const columns = joinSql(
    Array.from({ length: 1_000 }, (_, index) => sql`number AS ${identifier(`c${index}`)}`),
    ', ',
  );
  const before = process.memoryUsage().rss;
  for (let count = 1; count <= 600; count += 1) {
    const rows = await database.tuples(sql`SELECT ${columns} FROM t${limit(count)}`);
    assert.equal(rows.length, 0);
  }
  const grown = (process.memoryUsage().rss - before) / 1024 ** 2;
  // Each takes two thirds of one.
  assert.ok(grown < 80, `${grown} MiB`);
});

test('an answer beyond 256 MiB is refused before it fills the memory', async (t) => {
  const database = await openNumbers(t);
  const tooLarge = database.all(sql`SELECT zeroblob(${256 * 1024 * 1024 + 1})`);
  await assert.rejects(tooLarge, { code: 'bad_request' });
});

test('the version of SQLite is returned as three numbers', () => {
  const [major, minor, patch] = sqliteVersion();
  assert.equal(`${major}.${minor}.${patch}`, process.versions['sqlite']);
});

async function openNumbers(t: TestContext): Promise<Database> {
  const database = await openSqliteFile(t);
  await database.write((tx) => tx.run(sql`CREATE TABLE t (number INTEGER NOT NULL)`));
  return database;
}

async function commitsOf(database: Database, work: () => Promise<unknown>): Promise<number> {
  const before = countCommits(fileOf(database));
  await work();
  return countCommits(fileOf(database)) - before;
}

function add(database: Database, works: number): Promise<unknown> {
  return Promise.all(
    Array.from({ length: works }, (_, n) => database.write((tx) => tx.run(sql`INSERT INTO t VALUES (${n})`))),
  );
}

/** In one group, which takes so long that whoever waits as long as it did has waited for everything that a test does. */
function addSlowly(database: Database, works: number): Promise<unknown> {
  const quick = add(database, works - 1);
  // The last one: a group that has taken long begins no more works.
  const slow = database.write((tx) => {
    spin(500);
    return tx.run(sql`INSERT INTO t VALUES (1)`);
  });
  return Promise.all([quick, slow]);
}

/** One after the other, each some turns of the event loop after the one before: in the next one, if no calm ones are asked for. */
async function addInTurns(
  database: Database,
  options: { readonly works: number; readonly calmTurns?: number; readonly inTurn?: () => void },
): Promise<void> {
  const { works, calmTurns = 0, inTurn } = options;
  const added: Promise<unknown>[] = [];
  for (let work = 0; work < works; work += 1) {
    added.push(add(database, 1));
    for (let turn = 0; turn <= calmTurns; turn += 1) await nextTurn();
    inTurn?.();
  }
  await Promise.all(added);
}

/** Keeps the thread busy. */
function spin(forMs: number): void {
  const endMs = performance.now() + forMs;
  while (performance.now() < endMs);
}

async function count(database: Database): Promise<object> {
  const row = await database.get(
    sql`SELECT count(*) AS rows, count(*) FILTER (WHERE number < 0) AS failed FROM t`,
  );
  return { ...row };
}
