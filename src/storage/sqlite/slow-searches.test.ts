import assert from 'node:assert/strict';
import { copyFileSync, existsSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { literal, sql, type Sql } from '../../sql/sql.ts';
import type { Database, Tuple } from '../database.ts';
import { QueryTimeout } from '../engine-errors.ts';
import { AnsweringThread } from './answering-thread.ts';
import { ReaderPool } from './reader-pool.ts';
import { ReaderThread } from './reader-thread.ts';
import { openSqlite } from './sqlite-database.ts';

/** More rows than the main thread looks at within its budget, and few enough for a thread. */
const slowRows = 100_000;
/** More than anything looks at. */
const endless = 1e12;

/** Counts the searches that are left to threads, and those that the main thread has begun in vain before. */
class CountingPool extends ReaderPool {
  searches = 0;
  wasted = 0;

  override waste(tookMs: number): void {
    this.wasted += 1;
    super.waste(tookMs);
  }

  override search(...search: Parameters<ReaderPool['search']>): ReturnType<ReaderPool['search']> {
    this.searches += 1;
    return super.search(...search);
  }
}

interface Stage {
  readonly database: Database;
  readonly pool: CountingPool;
  readonly path: string;
  /** Searches so many rows, then selects these columns of the table `t`. */
  readonly search: (rows: number, columns?: Sql) => Promise<Tuple[]>;
}

async function setUp(t: TestContext, queryTimeoutMs = 60_000): Promise<Stage> {
  const pool = new CountingPool({ threads: 2 });
  const path = join(temporaryFolder(t), 'data.db');
  const database = openSqlite({ path, queryTimeoutMs, readers: pool });
  t.after(async () => {
    await database.stop().catch(() => undefined);
    await pool.stop();
  });
  await database.write(async (tx) => {
    await tx.run(sql`CREATE TABLE t (number INTEGER, text TEXT, real REAL, bytes BLOB)`);
    await tx.run(
      sql`INSERT INTO t VALUES (${1}, ${'ä'}, ${0.5}, ${new Uint8Array([1, 2])}), (NULL, '', -1e300, x'')`,
    );
  });
  const search: Stage['search'] = (rows, columns = sql`*`) =>
    database.search(sql`
      WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${rows} AND ${inTime})
      SELECT ${columns} FROM t WHERE (SELECT count(*) FROM n) > 0`);
  return { database, pool, path, search };
}

const inTime = sql`"$in_time"(n)`;

test('a thread finds what the main thread finds, of every type', async (t) => {
  const { pool, search } = await setUp(t);
  const quick = await search(1);
  assert.equal(pool.searches, 0);
  const slow = await search(slowRows);
  assert.equal(pool.searches, 1);
  assert.deepEqual(slow, quick);
  assert.equal(slow.length, 2);
});

test('a search that was slow begins in a thread, until one like it was quick', async (t) => {
  const { pool, search } = await setUp(t);
  await search(slowRows);
  assert.deepEqual([pool.searches, pool.wasted], [1, 1]);
  await search(slowRows);
  assert.deepEqual([pool.searches, pool.wasted], [2, 1]);
  await search(1);
  assert.equal(pool.searches, 3);
  await search(1);
  assert.equal(pool.searches, 3);
});

test('the main thread goes on while a thread searches', async (t) => {
  const { database, search } = await setUp(t, 5_000);
  let isOver = false;
  const slow = search(endless).finally(() => (isOver = true));
  for (let asked = 0; asked < 100; asked += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal((await database.tuples(sql`SELECT number FROM t`)).length, 2);
  }
  await database.write((tx) => tx.run(sql`INSERT INTO t (number) VALUES (3)`));
  assert.equal(isOver, false);
  await assert.rejects(slow, QueryTimeout);
});

test('a search sees earlier writes, and nothing uncommitted', async (t) => {
  const { database, pool, search } = await setUp(t);
  await search(slowRows);
  for (let written = 3; written < 20; written += 1) {
    await database.write(async (tx) => {
      await tx.run(sql`INSERT INTO t (number) VALUES (${written})`);
    });
    assert.equal((await search(slowRows)).length, written);
  }
  assert.equal(pool.searches, 18);
});

test('a thread sends many and large rows whole and in their order', async (t) => {
  const { database, pool } = await setUp(t);
  const count = 12_345;
  const many = sql`
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${slowRows} AND ${inTime})
    SELECT n, CASE WHEN n % 1000 = 0 THEN hex(zeroblob(200000)) ELSE '' END FROM n ORDER BY n LIMIT ${count}`;
  const [rows, others] = await Promise.all([database.search(many), database.search(many)]);
  assert.equal(pool.searches, 2);
  for (const found of [rows, others]) {
    assert.deepEqual(
      found.map(([n]) => n),
      Array.from({ length: count }, (_, at) => at + 1),
    );
    assert.equal(
      found.reduce((sum, [, text]) => sum + String(text).length, 0),
      Math.floor(count / 1_000) * 400_000,
    );
  }
});

test('rows that are too large to hold in memory are refused in a thread as well', async (t) => {
  const { pool, search } = await setUp(t);
  const sizeBytes = 150 * 1024 * 1024;
  const tooLarge = search(slowRows, sql`zeroblob(${literal(sizeBytes)})`);
  await assert.rejects(tooLarge, { code: 'bad_request', message: /too large/ });
  await assert.rejects(search(slowRows, sql`zeroblob(${literal(2 * sizeBytes)})`), { code: 'bad_request' });
  assert.equal(pool.searches, 2);
  assert.equal((await search(slowRows)).length, 2);
});

test('an error of a slow search is the same as on the main thread', async (t) => {
  const { database, search } = await setUp(t);
  const renamed = (): Promise<Tuple[]> => search(slowRows, sql`text`);
  await renamed();
  await database.write((tx) => tx.run(sql`ALTER TABLE t RENAME COLUMN text TO other`));
  await assert.rejects(renamed(), /no such column: text/);
});

test('to stop a file ends the searches in it, at once', async (t) => {
  const { database, path, search } = await setUp(t, 20_000);
  // So that a thread has begun, and the file is open in it.
  await search(slowRows);
  const searches = [search(endless), search(endless, sql`number`)];
  const refused = searches.map((one) => assert.rejects(one, { message: /busy/ }));
  await database.write((tx) => tx.run(sql`INSERT INTO t (number) VALUES (3)`));
  await database.stop();
  await Promise.all(refused);
  assert.equal(existsSync(`${path}-wal`), false, 'the log was folded into the file');
});

test('a file that is stopped is open in no thread', async (t) => {
  const { database, path, search } = await setUp(t);
  await search(slowRows);
  await database.write((tx) => tx.run(sql`INSERT INTO t (number) VALUES (3)`));
  await database.stop();
  assert.equal(existsSync(`${path}-wal`), false, 'the log was folded into the file');
});

test('a file in the place of another is not searched', async (t) => {
  const { database, path, search } = await setUp(t);
  const elsewhere = `${path}-elsewhere`;
  renameSync(path, elsewhere);
  copyFileSync(elsewhere, path);
  await assert.rejects(search(slowRows), { code: 'unavailable', message: /not available/ });
  assert.equal((await database.tuples(sql`SELECT number FROM t`)).length, 2);
  renameSync(elsewhere, path);
  assert.equal((await search(slowRows)).length, 2);
});

test('a thread that dies fails what it does with a clear error', async () => {
  const thread = new ReaderThread(
    new AnsweringThread(new URL('data:text/javascript,throw new Error("no memory")'), 'reader'),
  );
  const source = { number: 1, path: 'none', inode: '1' };
  const search = thread.search({ file: source, statement: sql`SELECT 1`, timeoutMs: 1, spentMs: 0 });
  await assert.rejects(search, /^Error: The reader thread has died/);
  assert.equal(thread.hasEnded, true);
  await thread.close(source.number);
});

test('searches that overlap do not keep the log from beginning anew', async (t) => {
  const { database, path, search } = await setUp(t);
  const bytesMax = 128 * 1024 * 1024;
  const rows = slowRows / 4;
  const over = new AbortController();
  const searching = Promise.all(
    Array.from({ length: 3 }, async (_, number) => {
      while (!over.signal.aborted) await search(rows + number);
    }),
  );
  const blob = sql`zeroblob(${literal(4 * 1024 * 1024)})`;
  await database.write((tx) => tx.run(sql`CREATE TABLE large (bytes BLOB)`));
  let longest = 0;
  for (let written = 0; written < 100; written += 1) {
    await database.write((tx) => tx.run(sql`INSERT INTO large VALUES (${blob})`));
    longest = Math.max(longest, statSync(`${path}-wal`).size);
    // However slow the machine is, the searches go on between two writes.
    await search(rows);
    await database.write((tx) => tx.run(sql`DELETE FROM large`));
  }
  over.abort();
  await searching;
  assert.ok(longest < 1.5 * bytesMax, `${longest}`);
});
