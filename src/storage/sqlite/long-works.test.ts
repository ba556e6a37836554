import assert from 'node:assert/strict';
import { copyFileSync, existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { AssertionFailed } from '../../base/assert.ts';
import { AppError } from '../../base/errors.ts';
import { sql } from '../../sql/sql.ts';
import type { Database, Transaction } from '../database.ts';
import { UniqueViolation } from '../engine-errors.ts';
import { ReaderPool } from './reader-pool.ts';
import { openSqlite, type SqliteFile } from './sqlite-database.ts';
import { WriterThread, WriterThreads } from './writer-thread.ts';

/** So many that the work gets a thread whatever the file holds. */
const alteredTables = 100;

interface Stage {
  readonly database: SqliteFile;
  readonly path: string;
  /** Runs a work as one that takes long. */
  readonly alter: <Result>(work: (tx: Transaction) => Promise<Result>) => Promise<Result>;
}

async function setUp(t: TestContext, writers = new WriterThreads(), readers?: ReaderPool): Promise<Stage> {
  const path = join(temporaryFolder(t), 'data.db');
  const database = openSqlite({ path, writers, queryTimeoutMs: 60_000, ...(readers && { readers }) });
  t.after(async () => {
    await database.stop().catch(() => undefined);
    await readers?.stop();
    await writers.stop();
  });
  await database.write((tx) => tx.run(sql`CREATE TABLE note (id TEXT, size INTEGER, bytes BLOB)`));
  const alter: Stage['alter'] = (work) => database.write(work, { isExclusive: true, alteredTables });
  return { database, path, alter };
}

/** Returns the URL of a thread that has also run this code before it is asked anything. */
function wrappedWriter(code: string): URL {
  const own = new URL('writer-worker.ts', import.meta.url).href;
  const whole = `import ${JSON.stringify(own)}; import { parentPort } from 'node:worker_threads'; ${code}`;
  return new URL(`data:text/javascript,${encodeURIComponent(whole)}`);
}

/** Counts what its threads have answered. */
class NotingPool extends ReaderPool {
  answers = 0;

  override async search(...search: Parameters<ReaderPool['search']>): ReturnType<ReaderPool['search']> {
    const found = await super.search(...search);
    this.answers += 1;
    return found;
  }
}

function add(tx: Transaction, id: string): Promise<number> {
  return tx.run(sql`INSERT INTO note (id) VALUES (${id})`);
}

async function ids(reader: Pick<Database, 'tuples'>): Promise<readonly unknown[]> {
  return (await reader.tuples(sql`SELECT id FROM note ORDER BY rowid`)).map(([id]) => id);
}

/** Counts the turns of the event loop until the promise is settled, and looks at something in each of them. */
async function turnsUntil(settled: Promise<unknown>, look: () => Promise<void>): Promise<number> {
  let isOver = false;
  const over = settled.finally(() => (isOver = true));
  for (let turns = 0; ; turns += 1) {
    await nextTurn();
    if (isOver) {
      await over;
      return turns;
    }
    await look();
  }
}

test('the event loop turns for each statement of a long work; reads see the state before, and other works wait', async (t) => {
  const { database, alter } = await setUp(t);
  await database.write((tx) => add(tx, 'before'));
  const order: string[] = [];
  const statements = 20;
  let later: Promise<unknown> | undefined;
  const long = alter(async (tx) => {
    for (let at = 0; at < statements; at += 1) await add(tx, String(at));
    later ??= database.write((other) => add(other, 'later')).then(() => order.push('later'));
    for (let at = 0; at < statements; at += 1) await add(tx, String(at));
    tx.afterCommit(() => order.push('long'));
  });
  const seen = new Set<number>();
  const turns = await turnsUntil(long, async () => void seen.add((await ids(database)).length));
  await later;
  assert.deepEqual(order, ['long', 'later']);
  assert.ok(turns >= 2 * statements, `${turns} turns`);
  const whole = 1 + 2 * statements;
  assert.ok(seen.has(1) && seen.isSubsetOf(new Set([1, whole, whole + 1])), [...seen].join());
});

test('statements of a long work have the results that they have in others', async (t) => {
  const { database, alter } = await setUp(t);
  const work = async (tx: Transaction): Promise<unknown> => {
    const bytes = new Uint8Array([1, 2, 3]);
    await tx.run(sql`DELETE FROM note`);
    await tx.insertRows(sql`note (id, size)`, [
      ['a', 1],
      ['b', null],
    ]);
    return [
      await tx.run(sql`UPDATE note SET bytes = ${bytes} WHERE id = 'a'`),
      await tx.returning(sql`INSERT INTO note (id, size) VALUES ('ä', ${12n}) RETURNING id, size`),
      (await tx.all(sql`SELECT * FROM note ORDER BY id`)).map((row) => ({ ...row })),
      { ...(await tx.get(sql`SELECT size FROM note WHERE id = 'a'`)) },
      await tx.get(sql`SELECT size FROM note WHERE id = 'none'`),
      await tx.tuples(sql`SELECT id, bytes FROM note ORDER BY id`),
      await tx.search(sql`SELECT id FROM note ORDER BY id`),
    ];
  };
  assert.deepEqual(await alter(work), await database.write(work));
});

test('a long work that fails is rolled back, with the error that it would have had in this thread', async (t) => {
  const { database, alter } = await setUp(t);
  await database.write(async (tx) => {
    await add(tx, 'same');
    await add(tx, 'same');
  });
  const index = alter(async (tx) => {
    await add(tx, 'lost');
    await tx.run(sql`CREATE UNIQUE INDEX note_id ON note (id)`);
  });
  await assert.rejects(index, (error) => error instanceof UniqueViolation && error.columns[0] === 'id');
  const refused = new AppError('bad_request', 'no');
  const thrown = alter(async (tx) => {
    await add(tx, 'lost');
    throw refused;
  });
  await assert.rejects(thrown, refused);
  await assert.rejects(
    alter((tx) => tx.run(sql`SELECT * FROM none`)),
    /no such table/,
  );
  await database.write((tx) => add(tx, 'after'));
  assert.deepEqual(await ids(database), ['same', 'same', 'after']);
});

test('a long work awaits nothing but its tx, which can let the event loop turn', async (t) => {
  const { database, alter } = await setUp(t);
  const foreign = alter(async (tx) => {
    await add(tx, 'lost');
    await nextTurn();
    await nextTurn();
  });
  await assert.rejects(foreign, AssertionFailed);
  let turns = 0;
  const paused = alter(async (tx) => {
    await add(tx, 'kept');
    setImmediate(() => (turns += 1));
    await tx.pause();
    assert.equal(turns, 1);
    await add(tx, 'kept');
  });
  await paused;
  assert.deepEqual(await ids(database), ['kept', 'kept']);
});

test('what alters a few tables of a small file is done in one turn, and of a large one in a thread', async (t) => {
  const { database } = await setUp(t);
  const turnsOfWork = async (): Promise<number> => {
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    return await database.write(
      async (tx) => {
        setImmediate(count);
        for (let at = 0; at < 10; at += 1) await add(tx, 'x');
        await tx.pause();
        isOver = true;
        return turns;
      },
      { isExclusive: true, alteredTables: 1 },
    );
  };
  assert.equal(await turnsOfWork(), 0);
  await database.write((tx) => tx.run(sql`INSERT INTO note (bytes) VALUES (zeroblob(3000000))`));
  assert.ok((await turnsOfWork()) >= 10);
});

test('a thread writes no file that has replaced another', async (t) => {
  const { path, alter, database } = await setUp(t);
  await database.write((tx) => add(tx, 'kept'));
  renameSync(path, `${path}.moved`);
  copyFileSync(`${path}.moved`, path);
  await assert.rejects(
    alter((tx) => add(tx, 'lost')),
    (error) => error instanceof AppError && error.code === 'unavailable',
  );
});

test('a thread that dies fails its work, of which nothing is kept, and the next one has another thread', async (t) => {
  const url = wrappedWriter(`
    parentPort.on('message', ({ statement }) => { if (statement?.text === 'SELECT die') process.exit(1); });`);
  const { database, alter } = await setUp(t, new WriterThreads(() => new WriterThread(url)));
  const died = alter(async (tx) => {
    await add(tx, 'lost');
    await tx.run(sql`SELECT die`);
  });
  await assert.rejects(died, (error) => error instanceof AppError && error.code === 'unavailable');
  await alter((tx) => add(tx, 'kept'));
  await database.write((tx) => add(tx, 'kept'));
  assert.deepEqual(await ids(database), ['kept', 'kept']);
});

test('a slow search shows no commit of a thread before this thread knows of it', async (t) => {
  const folder = temporaryFolder(t);
  const [committed, released] = ['committed', 'released'].map((name) => join(folder, name));
  assert.ok(committed !== undefined && released !== undefined);
  // Holds back what the thread answers to COMMIT.
  const url = wrappedWriter(`
    import { existsSync, writeFileSync } from 'node:fs';
    const post = parentPort.postMessage.bind(parentPort);
    let isCommit = false;
    parentPort.on('message', ({ statement }) => (isCommit = statement?.text === 'COMMIT'));
    parentPort.postMessage = (answer) => {
      if (isCommit) writeFileSync(${JSON.stringify(committed)}, '');
      // Or until the folder is gone, when the test has failed.
      while (isCommit && existsSync(${JSON.stringify(committed)}) && !existsSync(${JSON.stringify(released)}))
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
      post(answer);
    };`);
  const readers = new NotingPool({ threads: 1 });
  const { database, alter } = await setUp(t, new WriterThreads(() => new WriterThread(url)), readers);
  await database.write((tx) => add(tx, 'before'));
  const altered = alter((tx) => add(tx, 'new'));
  await eventually('the thread has committed', () => existsSync(committed));
  let isReleased = false;
  const found = database
    .search(
      sql`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100000 AND "$in_time"(n))
        SELECT id FROM note WHERE (SELECT count(*) FROM n) > 0 ORDER BY rowid`,
    )
    .then((rows) => [isReleased, rows]);
  await eventually('a thread has searched', () => readers.answers > 0);
  for (let turns = 0; turns < 20; turns += 1) await nextTurn();
  isReleased = true;
  writeFileSync(released, '');
  await altered;
  assert.deepEqual(await found, [true, [['before'], ['new']]]);
});

test('a file is closed after its running long work, without the ones that wait for a thread', async (t) => {
  const { database, path, alter } = await setUp(t);
  const runs = Promise.withResolvers<void>();
  const first = alter(async (tx) => {
    await add(tx, 'first');
    runs.resolve();
    await add(tx, 'second');
  });
  const second = alter((tx) => add(tx, 'lost'));
  await runs.promise;
  const stopped = database.stop();
  await assert.rejects(second, (error) => error instanceof AppError && error.code === 'unavailable');
  await first;
  await stopped;
  const again = openSqlite({ path });
  t.after(() => again.stop());
  assert.deepEqual(await ids(again), ['first', 'second']);
});
