import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'node:test';
import { sql } from '../../sql/sql.ts';
import { QueryTimeout } from '../engine-errors.ts';
import { type FileLog, type PooledFile, ReaderPool } from './reader-pool.ts';
import type { ReaderRows, ReaderSearch } from './reader-thread.ts';

/** A thread whose searches end when the test says so. */
class HeldThread {
  hasEnded = false;
  /** The paths of all files that were searched. */
  readonly searched: string[] = [];
  readonly closed: number[] = [];
  #answer: PromiseWithResolvers<ReaderRows> | undefined;

  search({ file }: ReaderSearch): Promise<ReaderRows> {
    this.searched.push(file.path);
    this.#answer = Promise.withResolvers<ReaderRows>();
    return this.#answer.promise;
  }

  /** Ends the search that runs, and lets the next one begin. */
  async answer(tookMs = 100): Promise<void> {
    this.#answer?.resolve({ rows: [], tookMs });
    await nextTurn();
  }

  async close(fileNumber: number): Promise<void> {
    this.closed.push(fileNumber);
  }

  async stop(error = new Error('stopped')): Promise<void> {
    this.hasEnded = true;
    this.#answer?.reject(error);
  }
}

interface Stage {
  readonly pool: ReaderPool;
  readonly started: HeldThread[];
  /** Searches a file. */
  readonly ask: (file: PooledFile, timeoutMs?: number) => Promise<boolean>;
}

const shortLog: FileLog = { bytes: () => 0, copy: () => assert.fail('a short log was copied') };

function setUp(threads: number): Stage {
  const started: HeldThread[] = [];
  const startThread = (): HeldThread => {
    const thread = new HeldThread();
    started.push(thread);
    return thread;
  };
  const pool = new ReaderPool({ threads, startThread });
  const ask: Stage['ask'] = async (file, timeoutMs = 20_000) =>
    (await pool.search(file, { statement: sql`SELECT 1`, timeoutMs, spentMs: 0 })).isSlow;
  return { pool, started, ask };
}

test('files take turns, however many searches each has', async () => {
  const { pool, started, ask } = setUp(1);
  const [many, one] = [pool.open('many', shortLog), pool.open('one', shortLog)];
  assert.equal(started.length, 0, 'no thread is started before one is needed');
  const all = [ask(many), ask(many), ask(many), ask(many), ask(one), ask(one)];
  const [thread] = started;
  assert.ok(thread);
  for (let answered = 0; answered < all.length; answered += 1) await thread.answer();
  await Promise.all(all);
  assert.deepEqual(thread.searched, ['many', 'many', 'one', 'many', 'one', 'many']);
  assert.equal(started.length, 1);
});

test('there are no more threads than processors for them, and none is started while one is free', async () => {
  const { pool, started, ask } = setUp(2);
  const file = pool.open('file', shortLog);
  const first = ask(file);
  await started[0]?.answer(1);
  assert.equal(await first, false, 'it was quick');
  const all = [ask(file), ask(file), ask(file)];
  assert.equal(started.length, 2);
  for (const thread of [...started, ...started]) await thread.answer(100);
  assert.deepEqual(await Promise.all(all), [true, true, true]);
});

test('a search that waits for longer than its time is refused, and so is one too many', async () => {
  const { pool, started, ask } = setUp(1);
  const [full, other] = [pool.open('full', shortLog), pool.open('other', shortLog)];
  const running = ask(full);
  const late = ask(full, 1);
  await assert.rejects(late, QueryTimeout);
  const waiting = Array.from({ length: 200 }, () => ask(full));
  await assert.rejects(ask(full), QueryTimeout);
  const others = ask(other);
  const [thread] = started;
  for (let answered = 0; answered < 202; answered += 1) await thread?.answer();
  await Promise.all([running, others, ...waiting]);
  // The late one never began.
  assert.equal(thread?.searched.length, 202);
});

test('a thread that has died fails its search, and another one takes its place', async () => {
  const { pool, started, ask } = setUp(1);
  const file = pool.open('file', shortLog);
  const [first, second] = [ask(file), ask(file)];
  const error = new Error('out of memory');
  await started[0]?.stop(error);
  await assert.rejects(first, error);
  assert.equal(started.length, 2);
  await started[1]?.answer();
  await second;
});

test('to close a file ends its searches and no other', async () => {
  const { pool, started, ask } = setUp(2);
  const [closed, other] = [pool.open('closed', shortLog), pool.open('other', shortLog)];
  const searches = [ask(closed), ask(other), ask(closed), ask(other)] as const;
  const refused = [searches[0], searches[2]].map((search) => assert.rejects(search));
  await pool.close(closed);
  await Promise.all(refused);
  await assert.rejects(ask(closed), { code: 'unavailable' });
  assert.deepEqual([started[0]?.hasEnded, started[1]?.closed], [true, [closed.source.number]]);
  for (const thread of started.slice(1)) await thread.answer();
  await Promise.all([searches[1], searches[3]]);
  await pool.stop();
  await assert.rejects(ask(other), { code: 'unavailable' });
});

test('a log that has grown long is copied before its file is searched again, while no thread reads', async () => {
  const { pool, started, ask } = setUp(2);
  const log = { length: 0, copies: 0 };
  const file = pool.open('file', {
    bytes: () => log.length,
    copy: () => {
      assert.equal(started[0]?.searched.length, 1);
      log.copies += 1;
    },
  });
  const other = pool.open('other', shortLog);
  const first = ask(file);
  log.length = 1024 ** 3;
  const [second, others] = [ask(file), ask(other)];
  assert.deepEqual(
    started.map(({ searched }) => searched),
    [['file'], ['other']],
  );
  await started[1]?.answer();
  await others;
  assert.equal(log.copies, 0);
  await started[0]?.answer();
  await first;
  assert.equal(log.copies, 1);
  for (const thread of started) await thread.answer();
  await second;
});

test('searches that are ended in one turn of the event loop share a budget', async () => {
  const { pool } = setUp(1);
  const { budgetMs } = pool;
  assert.ok(budgetMs >= 2 && budgetMs <= 10, `${budgetMs}`);
  for (let wasted = 0; wasted < 50; wasted += 1) pool.waste(pool.budgetMs);
  assert.ok(pool.budgetMs * 50 < 20, `${pool.budgetMs}`);
  await nextTurn();
  assert.equal(pool.budgetMs, budgetMs);
});
