import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startCountingProxy } from '../../../test/support/counting-proxy.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { heldStatement, holdStatements } from '../../../test/support/hold-statements.ts';
import {
  createInstanceDatabase,
  openPostgresDatabase,
  type TestPostgresDatabase,
} from '../../../test/support/postgres-database.ts';
import { ask } from '../../../test/support/postgres.ts';
import { AppError } from '../../base/errors.ts';
import { identifier, sql, type Sql } from '../../sql/sql.ts';
import type { Database, Transaction } from '../database.ts';
import { UniqueViolation } from '../engine-errors.ts';

class Refused extends Error {}

test('a work that throws leaves nothing, and its neighbours are kept', async (t) => {
  const { database } = await openNotes(t);
  const results = await Promise.allSettled([
    database.write((tx) => insert(database, tx, 'a')),
    database.write(async (tx) => {
      await insert(database, tx, 'b');
      throw new Refused();
    }),
    database.write((tx) => insert(database, tx, 'c')),
  ]);
  assert.ok(results[1]?.status === 'rejected' && results[1].reason instanceof Refused);
  assert.deepEqual(await ids(database), ['a', 'c']);
});

test('a work that catches the refusal of a statement goes on without it, and runs twice for that', async (t) => {
  const { database } = await openNotes(t);
  let runs = 0;
  await database.write(async (tx) => {
    runs += 1;
    await insert(database, tx, 'a');
    await assert.rejects(insert(database, tx, 'a'), UniqueViolation);
    await insert(database, tx, 'b');
  });
  assert.equal(runs, 2);
  // Also when the refused statement was the last, or was not waited for before the next was sent.
  await database.write(async (tx) => {
    const [first, second, third] = await Promise.allSettled(
      ['a', 'c', 'c'].map((id) => insert(database, tx, id)),
    );
    runs +=
      first?.status === 'rejected' && second?.status === 'fulfilled' && third?.status === 'rejected' ? 1 : 0;
  });
  assert.equal(runs, 3);
  // Nor when the work did not wait for it at all.
  await database.write(async (tx) => {
    insert(database, tx, 'a').catch(() => undefined);
    insert(database, tx, 'd').catch(() => undefined);
  });
  assert.deepEqual(await ids(database), ['a', 'b', 'c', 'd']);
});

test('a work that awaits something else fails at once, and its transaction is dead from then on', async (t) => {
  const { database, url } = await openNotes(t);
  const never = Promise.withResolvers<void>();
  const late: Promise<unknown>[] = [];
  const foreign = database.write(async (tx) => {
    await insert(database, tx, 'a');
    await never.promise;
    late.push(insert(database, tx, 'late').catch((error: unknown) => error));
  });
  await assert.rejects(foreign, /awaited something else/);
  await assert.rejects(
    database.write(() => never.promise),
    /awaited something else/,
  );
  never.resolve();
  await database.write((tx) => insert(database, tx, 'b'));
  assert.match(String(await late[0]), /used after it had ended/);
  assert.deepEqual(await ids(database), ['b']);
  const open = await ask(
    url,
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'`,
  );
  assert.deepEqual(open, []);
});

test('what a resolved write wrote is seen by all, and nothing of it before', async (t) => {
  const { database, open, url } = await openNotes(t);
  const other = open();
  const release = await holdStatements(t, url);
  const done = new AbortController();
  const writing = database.write(async (tx) => {
    await insert(database, tx, 'a');
    await tx.get(heldStatement);
    await insert(database, tx, 'b');
  });
  void writing.then(() => done.abort());
  await waiting(url, 1);
  const seen = new Set([(await ids(other)).join()]);
  await release();
  while (!done.signal.aborted) seen.add((await ids(other)).join());
  assert.deepEqual(
    [...seen].filter((each) => each !== 'a,b'),
    [''],
  );
  assert.deepEqual(await ids(other), ['a', 'b']);
});

test('callbacks run in order before the answer, see the commit, and are lost with a rollback or a repetition', async (t) => {
  const { database } = await openNotes(t);
  const told: string[] = [];
  const seen: Promise<readonly string[]>[] = [];
  await database
    .write(async (tx) => {
      tx.afterCommit(() => void seen.push(ids(database)));
      await insert(database, tx, 'a');
      await insert(database, tx, 'a').catch(() => undefined);
      tx.afterCommit(() => told.push('second'));
    })
    .then(() => told.push('answered'));
  const refused = database.write(async (tx) => {
    tx.afterCommit(() => told.push('never'));
    throw new Refused();
  });
  await assert.rejects(refused, Refused);
  assert.deepEqual(told, ['second', 'answered']);
  assert.equal(seen.length, 1);
  assert.deepEqual(await seen[0], ['a']);
});

test('in one process an exclusive work runs alone until its callbacks are done', async (t) => {
  const { database, url } = await openNotes(t);
  const release = await holdStatements(t, url);
  const events: string[] = [];
  const work = (name: string, isExclusive: boolean): Promise<void> =>
    database.write(
      async (tx) => {
        events.push(`${name}(`);
        await tx.get(heldStatement);
        tx.afterCommit(() => events.push(`)${name}`));
      },
      { isExclusive },
    );
  const works = [work('a', false), work('b', false), work('X', true), work('Y', true), work('c', false)];
  await eventually('two have begun', () => events.length === 2);
  await release();
  await Promise.all(works);
  const text = events.join('');
  assert.match(text, /X\(\)XY\(\)Yc\(\)c$/);
  assert.deepEqual(events.slice(0, 2).toSorted(), ['a(', 'b(']);
});

test('where a loss is allowed no commit waits for a sync, nor for changes of the tables', async (t) => {
  const { database, open, url } = await openNotes(t);
  const logs = open({ isLossAllowed: true, lockName: 'logs' });
  const isSynced = sql`SELECT current_setting('synchronous_commit')`;
  const release = await holdStatements(t, url);
  const changing = database.write(
    async (tx) => {
      await tx.get(heldStatement);
      return tx.tuples(isSynced);
    },
    { isExclusive: true },
  );
  await waiting(url, 1);
  assert.deepEqual(await logs.write((tx) => tx.tuples(isSynced)), [['off']]);
  await release();
  assert.deepEqual(await changing, [['on']]);
});

test('across processes an exclusive work waits for those that write, and they for it', async (t) => {
  const { database, open, url } = await openNotes(t);
  const other = open();
  const order: string[] = [];
  const work = (name: string, statement: Sql, on: Database): Promise<unknown> =>
    on.write(
      async (tx) => {
        await tx.get(statement);
        order.push(name);
      },
      { isExclusive: name === 'exclusive' },
    );
  const free = sql`SELECT 1`;
  const release = await holdStatements(t, url);
  const first = work('shared', heldStatement, database);
  await waiting(url, 1);
  const second = work('exclusive', free, other);
  await waiting(url, 2);
  const third = work('later', free, database);
  await waiting(url, 3);
  await release();
  await Promise.all([first, second, third]);
  assert.deepEqual(order, ['shared', 'exclusive', 'later']);
  // Another instance is not concerned.
  const releaseAgain = await holdStatements(t, url);
  const exclusive = work('exclusive', heldStatement, database);
  await waiting(url, 1);
  await work('stranger', free, open({ instanceId: 'stranger' }));
  await releaseAgain();
  await exclusive;
  assert.deepEqual(order.slice(-2), ['stranger', 'exclusive']);
});

test('a work that ran by definitions which another process has changed is run again by the new ones', async (t) => {
  const { database, url, open } = await openNotes(t);
  await ask(
    url,
    'CREATE TABLE chancery.instance (version integer); INSERT INTO chancery.instance VALUES (1)',
  );
  let [known, refreshed] = [1, 0];
  const node = open({
    definitions: {
      version: sql`SELECT version FROM ${database.names.table('$instance')}`,
      versionInMemory: () => known,
      refresh: async () => {
        refreshed += 1;
        known = Number(
          (await database.get(sql`SELECT version FROM ${database.names.table('$instance')}`))?.['version'],
        );
      },
    },
  });
  const write = (): Promise<number> =>
    node.write(async (tx) => {
      const version = known;
      await insert(node, tx, `by ${version}.${refreshed}`);
      return version;
    });
  assert.equal(await write(), 1);
  await database.write(
    async (tx) => {
      await tx.run(sql`UPDATE ${database.names.table('$instance')} SET version = 2`);
      await tx.run(sql`ALTER TABLE ${database.names.collectionTable('note')} ADD COLUMN more text`);
    },
    { isExclusive: true },
  );
  assert.equal(await write(), 2);
  assert.equal(refreshed, 1);
  assert.deepEqual(await ids(database), ['by 1.0', 'by 2.1']);
});

test('a table that changes under prepared statements causes no error', async (t) => {
  const { database } = await openNotes(t, { max: 1 });
  const note = database.names.collectionTable('note');
  const read = (): Promise<unknown> => database.all(sql`SELECT * FROM ${note}`);
  const write = (id: string): Promise<unknown> =>
    database.write((tx) => tx.all(sql`INSERT INTO ${note} (id, text) VALUES (${id}, 'x') RETURNING *`));
  for (const id of ['a', 'b', 'c']) {
    await read();
    await write(id);
    await write(`${id}2`);
  }
  for (const column of ['one', 'two']) {
    await database.write((tx) => tx.run(sql`ALTER TABLE ${note} ADD COLUMN ${identifier(column)} text`), {
      isExclusive: true,
    });
    await read();
    await write(column);
  }
});

test('works that collide are run again, three times at most, and then answered as unavailable', async (t) => {
  const { database, open } = await openNotes(t);
  const other = open();
  await database.write((tx) => Promise.all(['a', 'b'].map((id) => insert(database, tx, id))));
  const touch = (on: Database, order: readonly string[]): Promise<void> =>
    on.write(async (tx) => {
      for (const id of order) {
        await tx.run(sql`UPDATE ${on.names.collectionTable('note')} SET size = size + 1 WHERE id = ${id}`);
        await tx.get(sql`SELECT pg_sleep(0.1)`);
      }
    });
  await Promise.all([touch(database, ['a', 'b']), touch(other, ['b', 'a'])]);
  assert.deepEqual(await database.tuples(sql`SELECT size FROM ${database.names.collectionTable('note')}`), [
    [2],
    [2],
  ]);
  let runs = 0;
  const hopeless = database.write(async (tx) => {
    runs += 1;
    await insert(database, tx, 'c');
    // A work that does not mind must not be kept all the same.
    await tx.run(sql`DO 'BEGIN RAISE EXCEPTION USING ERRCODE = 40001::text; END'`).catch(() => undefined);
  });
  await assert.rejects(hopeless, isUnavailable);
  assert.equal(runs, 4);
  assert.deepEqual(await ids(database), ['a', 'b']);
});

test('a write of record, event and delivery takes two round trips, however many its statements are', async (t) => {
  const url = await createInstanceDatabase();
  const proxy = await startCountingProxy(t, Number(new URL(url).port));
  const proxied = new URL(url);
  proxied.port = String(proxy.port);
  const { database } = await openNotes(t, { url: proxied.href, max: 1 });
  await ask(
    url,
    'CREATE TABLE chancery.event (instance_id text, position bigint GENERATED ALWAYS AS IDENTITY, id text)',
  );
  await ask(url, 'CREATE TABLE chancery.delivery (instance_id text, event bigint)');
  const { names } = database;
  const write = (): Promise<unknown> =>
    database.write((tx) =>
      tx.inOrder([
        () => insert(database, tx, `r${Math.random()}`),
        () =>
          tx.run(sql`
            INSERT INTO ${names.table('$event')} (${names.instance.column}id) VALUES (${names.instance.value}${'e'})`),
        () =>
          tx.run(sql`
            INSERT INTO ${names.table('$delivery')} (${names.instance.column}event) VALUES (${names.instance.value}${names.lastPosition})`),
      ]),
    );
  const roundTrips = async (work: () => Promise<unknown>): Promise<number> => {
    const before = proxy.roundTrips;
    await work();
    return proxy.roundTrips - before;
  };
  for (let again = 0; again < 3; again += 1) {
    assert.equal(await roundTrips(write), 2);
    assert.equal(await roundTrips(() => ids(database)), 1);
    assert.equal(await roundTrips(() => database.write(() => Promise.resolve())), 0);
  }
  const deliveries = await ask(url, 'SELECT event, instance_id FROM chancery.delivery ORDER BY event');
  assert.deepEqual(
    deliveries.map((row) => Number(row['event'])),
    [1, 2, 3],
  );
});

test('a connection keeps a bounded number of prepared statements', async (t) => {
  const { database } = await openNotes(t, { max: 1, statementsMax: 20 });
  for (let n = 0; n < 100; n += 1) {
    for (let again = 0; again < 3; again += 1) await database.get(sql`SELECT 1 AS ${identifier(`c${n}`)}`);
  }
  const [[count] = []] = await database.tuples(sql`SELECT count(*) FROM pg_prepared_statements`);
  assert.ok(Number(count) > 10 && Number(count) <= 42, String(count));
});

test('a name that is not qualified leads nowhere', async (t) => {
  const { database } = await openNotes(t);
  await assert.rejects(database.get(sql`SELECT id FROM note`), /relation "note" does not exist/);
});

test('a stop lets what runs end and refuses what comes later; the pool stays', async (t) => {
  const { database, open } = await openNotes(t);
  const works = Array.from({ length: 100 }, (_, n) => database.write((tx) => insert(database, tx, `n${n}`)));
  await database.stop();
  await Promise.all(works);
  await assert.rejects(
    database.write((tx) => insert(database, tx, 'late')),
    isUnavailable,
  );
  await assert.rejects(ids(database), isUnavailable);
  assert.equal((await ids(open())).length, 100);
});

async function openNotes(
  t: TestContext,
  options: Parameters<typeof openPostgresDatabase>[1] = {},
): Promise<TestPostgresDatabase> {
  const opened = await openPostgresDatabase(t, options);
  const note = opened.database.names.collectionTable('note');
  const create = sql`CREATE TABLE ${note} (id text COLLATE "C" NOT NULL UNIQUE, text text NOT NULL, size integer DEFAULT 0)`;
  await opened.database.write((tx) => tx.run(create), { isExclusive: true });
  return opened;
}

/** Until so many wait for a lock, of an instance or of {@link holdStatements}. */
async function waiting(url: string, count: number): Promise<void> {
  const locks = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
  await eventually(`${count} wait`, async () => (await ask(url, locks)).length === count);
}

async function insert(on: Database, tx: Transaction, id: string): Promise<void> {
  await tx.run(
    sql`INSERT INTO ${on.names.collectionTable('note')} (id, text) VALUES (${id}, ${`text of ${id}`})`,
  );
}

async function ids(on: Database): Promise<readonly string[]> {
  const rows = await on.tuples(sql`SELECT id FROM ${on.names.collectionTable('note')} ORDER BY id`);
  return rows.map(([id]) => String(id));
}

function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && error.code === 'unavailable' && error.retryAfter !== undefined;
}
