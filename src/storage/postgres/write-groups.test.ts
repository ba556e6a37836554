import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../test/support/eventually.ts';
import { counted, increment, openCounters } from '../../../test/support/counters.ts';
import { openPostgresDatabase } from '../../../test/support/postgres-database.ts';
import { changeByKey, insertInto, lookupToChange, sql, withValues } from '../../sql/sql.ts';
import type { Database, Transaction } from '../database.ts';
import { UniqueViolation } from '../engine-errors.ts';

const appending = { isAppending: true } as const;

async function openNotes(t: TestContext): Promise<Database> {
  const { database } = await openPostgresDatabase(t);
  const create = sql`
    CREATE TABLE ${database.names.collectionTable('note')} (id text COLLATE "C" UNIQUE, transaction xid8 DEFAULT pg_current_xact_id())`;
  await database.write((tx) => tx.run(create), { isExclusive: true });
  return database;
}

function insert(tx: Transaction, id: string): Promise<number> {
  return tx.run(sql`INSERT INTO ${tx.names.collectionTable('note')} (id) VALUES (${id})`);
}

async function stored(database: Database): Promise<{ readonly ids: string; readonly transactions: number }> {
  const rows = await database.tuples(
    sql`SELECT id, transaction::text FROM ${database.names.collectionTable('note')} ORDER BY id`,
  );
  return {
    ids: rows.map(([id]) => String(id)).join(''),
    transactions: new Set(rows.map(([, transaction]) => transaction)).size,
  };
}

/** What became of each. */
async function statusesOf(works: readonly Promise<unknown>[]): Promise<readonly string[]> {
  return (await Promise.allSettled(works)).map(({ status }) => status);
}

test('works that append and wait at the same time share a transaction, and each gets its own answer', async (t) => {
  const database = await openNotes(t);
  const called: string[] = [];
  const write = (id: string): Promise<string> =>
    database.write(async (tx) => {
      tx.afterCommit(() => called.push(id));
      await insert(tx, id);
      return `${id} is kept`;
    }, appending);
  const answers = await Promise.all(['a', 'b', 'c'].map(write));
  assert.deepEqual(answers, ['a is kept', 'b is kept', 'c is kept']);
  assert.deepEqual(called, ['a', 'b', 'c']);
  assert.deepEqual(await stored(database), { ids: 'abc', transactions: 1 });
});

/** Three works in a transaction that is held up until the function it answers is called. */
async function holdUp(database: Database): Promise<() => Promise<void>> {
  const hold = new AbortController();
  const held = [1, 2, 3].map(() =>
    database.write(async (tx) => {
      while (!hold.signal.aborted) await tx.tuples(sql`SELECT pg_sleep(0.01)`);
    }, appending),
  );
  await setImmediate();
  return async () => {
    hold.abort();
    await Promise.all(held);
  };
}

test('works that come beside a group wait for as many as it has, and share a transaction', async (t) => {
  const { database } = await openCounters(t, []);
  const insertSoon = (): Promise<readonly unknown[]> =>
    database.write(async (tx) => {
      const [row] = await tx.tuples(sql`SELECT pg_current_xact_id()::text`);
      return row ?? [];
    }, appending);
  // Nobody waits for ever: a machine that stands still between two of them may part them.
  await eventually('they are together', async () => {
    const release = await holdUp(database);
    const works: Promise<readonly unknown[]>[] = [];
    for (let count = 0; count < 3; count += 1) {
      works.push(insertSoon());
      await setImmediate();
    }
    await release();
    return new Set((await Promise.all(works)).flat()).size === 1;
  });
});

test('a work beside a group that is held up does not wait for ever', async (t) => {
  const { database } = await openCounters(t, []);
  const release = await holdUp(database);
  const beside = database.write((tx) => tx.tuples(sql`SELECT 1`), appending).then(() => 'kept');
  const first = await Promise.race([beside, sleep(2_000, 'waiting', { ref: false })]);
  await release();
  assert.equal(first, 'kept');
});

test('of works that share a transaction only the one fails that is to blame', async (t) => {
  const database = await openNotes(t);
  const called: string[] = [];
  const results = await Promise.allSettled(
    ['a', 'b', 'a', 'c'].map((id) =>
      database.write(async (tx) => {
        tx.afterCommit(() => called.push(id));
        await insert(tx, id);
      }, appending),
    ),
  );
  const failures = results.filter((result) => result.status === 'rejected');
  assert.equal(failures.length, 1);
  assert.ok(failures[0]?.reason instanceof UniqueViolation);
  assert.equal((await stored(database)).ids, 'abc');
  assert.deepEqual(called.toSorted(), ['a', 'b', 'c']);
});

test('a work that fails after it has inserted leaves nothing behind in a shared transaction', async (t) => {
  const database = await openNotes(t);
  const statuses = await statusesOf([
    database.write((tx) => insert(tx, 'a'), appending),
    database.write(async (tx) => {
      await insert(tx, 'b');
      throw new Error('no');
    }, appending),
  ]);
  assert.deepEqual(statuses, ['fulfilled', 'rejected']);
  assert.equal((await stored(database)).ids, 'a');
});

test('a work that fails before it has written anything spoils nothing', async (t) => {
  const database = await openNotes(t);
  let runs = 0;
  const statuses = await statusesOf([
    database.write((tx) => insert(tx, 'a'), appending),
    database.write(async (tx) => {
      runs += 1;
      await tx.tuples(sql`SELECT 1`);
      throw new Error('no');
    }, appending),
    database.write((tx) => insert(tx, 'b'), appending),
  ]);
  assert.deepEqual(statuses, ['fulfilled', 'rejected', 'fulfilled']);
  assert.equal(runs, 1);
  assert.deepEqual(await stored(database), { ids: 'ab', transactions: 1 });
});

test('a work whose query fails leaves others unaffected', async (t) => {
  const database = await openNotes(t);
  const statuses = await statusesOf([
    database.write((tx) => insert(tx, 'a'), appending),
    database.write((tx) => tx.tuples(sql`SELECT 1 / 0`), appending),
    database.write((tx) => insert(tx, 'b'), appending),
  ]);
  assert.deepEqual(statuses, ['fulfilled', 'rejected', 'fulfilled']);
  assert.equal((await stored(database)).ids, 'ab');
});

test('a work that awaits something else leaves others unaffected', async (t) => {
  const database = await openNotes(t);
  const statuses = await statusesOf([
    database.write((tx) => insert(tx, 'a'), appending),
    database.write(async (tx) => {
      await insert(tx, 'b');
      await sleep(1);
    }, appending),
    database.write((tx) => insert(tx, 'c'), appending),
  ]);
  assert.deepEqual(statuses, ['fulfilled', 'rejected', 'fulfilled']);
  assert.equal((await stored(database)).ids, 'ac');
});

test('rows that cannot be inserted together are inserted one by one', async (t) => {
  const database = await openNotes(t);
  const insertBytes = (tx: Transaction, id: string): Promise<number> => {
    const into = tx.names.collectionTable('note');
    return tx.run(insertInto(into, sql`id`, sql`convert_from(${Buffer.from(id)}, 'UTF8')`));
  };
  await Promise.all(['a', 'b'].map((id) => database.write((tx) => insertBytes(tx, id), appending)));
  assert.equal((await stored(database)).ids, 'ab');
});

test('works of a group that are much together are inserted in several statements', async (t) => {
  const database = await openNotes(t);
  const table = database.names.collectionTable('note');
  await database.write((tx) => tx.run(sql`ALTER TABLE ${table} ADD COLUMN text text`), { isExclusive: true });
  const text = 'x'.repeat(5 * 1024 * 1024);
  const works = ['a', 'b', 'c'].map((id) =>
    database.write((tx) => {
      const table = tx.names.collectionTable('note');
      return tx.run(insertInto(table, sql`id, text`, sql`${id}, ${text}`));
    }, appending),
  );
  await Promise.all(works);
  assert.deepEqual(await stored(database), { ids: 'abc', transactions: 1 });
});

test('a stop waits for the works that have been started', async (t) => {
  const database = await openNotes(t);
  const writes = ['a', 'b'].map((id) => database.write((tx) => insert(tx, id), appending));
  await database.stop();
  assert.deepEqual(await Promise.all(writes), [1, 1]);
  await assert.rejects(
    database.write((tx) => insert(tx, 'c'), appending),
    /stopping/,
  );
});

test('works that change different rows share a transaction, and each sees its own row', async (t) => {
  const { database } = await openCounters(t, ['a', 'b', 'c']);
  assert.deepEqual(await Promise.all(['a', 'b', 'c'].map((id) => increment(database, id))), [1, 1, 1]);
  assert.deepEqual(await counted(database), { counts: { a: 1, b: 1, c: 1 }, transactions: 1 });
});

test('a work that finds no row fails alone', async (t) => {
  const { database } = await openCounters(t, ['a', 'b']);
  const results = await Promise.allSettled(['a', 'missing', 'b'].map((id) => increment(database, id)));
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.deepEqual((await counted(database)).counts, { a: 1, b: 1 });
});

test('a change that is refused is refused alone', async (t) => {
  const { database } = await openCounters(t, ['a', 'b', 'c']);
  const changes = ['a', 'b', 'c'].map((id) =>
    database.write(
      async (tx) => {
        const table = tx.names.collectionTable('counter');
        const code = id === 'c' ? 'other' : 'same';
        await tx.run(withValues(changeByKey(table, [[sql`code`, sql`${null}`]], sql`id`), [code, id]));
      },
      { changes: id },
    ),
  );
  const results = await Promise.allSettled(changes);
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  assert.ok(refused.length === 1 && refused[0] instanceof UniqueViolation);
  assert.equal(results[2]?.status, 'fulfilled');
});

test('a work in a shared transaction cannot change another row than it has named', async (t) => {
  const { database } = await openCounters(t, ['a', 'b']);
  const lookup = sql`SELECT count FROM ${database.names.collectionTable('counter')} WHERE id = ${'b'}${database.names.locks.forUpdate}`;
  const wrong = database.write((tx) => tx.tuples(lookupToChange(lookup)), { changes: 'a' });
  await assert.rejects(wrong, /changes the row that it has named/);
  const change = changeByKey(
    database.names.collectionTable('counter'),
    [[sql`count`, sql`${null}`]],
    sql`id`,
  );
  const made = database.write((tx) => tx.run(withValues(change, [1, 'c'])), { changes: 'a' });
  await assert.rejects(made, /changes the row that it has named/);
});

test('changes that share a transaction set what they would set alone, and nothing else', async (t) => {
  const { database } = await openPostgresDatabase(t);
  const values = [
    ['one', -0.5, 0, null],
    [String.raw`"two"\ {,} NULL`, 1e21, 1, '{"a":[null]}'],
    ['', -0, 1, null],
  ] as const;
  const changed = async (name: string, isShared: boolean): Promise<readonly unknown[]> => {
    const table = database.names.collectionTable(name);
    const columns = sql`("$position" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE, "$revision" bigint NOT NULL,
      t text UNIQUE NOT NULL, d double precision NOT NULL DEFAULT 0, b smallint NOT NULL DEFAULT 0, j text, other text NOT NULL DEFAULT '')`;
    await database.write((tx) => tx.run(sql`CREATE TABLE ${table} ${columns}`), { isExclusive: true });
    await database.write(async (tx) => {
      for (const id of ['a', 'b', 'c', 'd'])
        await tx.run(
          sql`INSERT INTO ${table} (id, "$revision", t, j, other) VALUES (${id}, 1, ${id}, '1', ${id})`,
        );
    });
    const works = values.map(([text, double, small, json], index) => {
      const id = 'abc'.charAt(index);
      const columns = [sql`"$revision"`, sql`t`, sql`d`, sql`b`, sql`j`];
      const change = changeByKey(
        table,
        columns.map((column) => [column, sql`${null}`]),
        sql`id`,
      );
      const set = withValues(change, [2, text, double, small, json, id]);
      return database.write((tx) => tx.run(set), isShared ? { changes: id } : {});
    });
    await Promise.all(works);
    const rows = await database.tuples(sql`SELECT *, xmin::text FROM ${table} ORDER BY id`);
    const writers = new Set(rows.slice(0, 3).map((row) => row.at(-1)));
    assert.equal(writers.size, isShared ? 1 : 3);
    return rows.map((row) => row.slice(0, -1));
  };
  assert.deepEqual(await changed('shared', true), await changed('alone', false));
});

test('statements of a work stay in its order, whatever its neighbours run', async (t) => {
  const database = await openNotes(t);
  await database.write(
    (tx) =>
      tx.run(
        sql`CREATE TABLE ${tx.names.collectionTable('child')} (note text REFERENCES ${tx.names.collectionTable('note')} (id))`,
      ),
    { isExclusive: true },
  );
  const parent = (tx: Transaction, id: string): Promise<number> =>
    tx.run(insertInto(tx.names.collectionTable('note'), sql`id`, sql`${id}`));
  const child = (tx: Transaction, id: string): Promise<number> =>
    tx.run(insertInto(tx.names.collectionTable('child'), sql`note`, sql`${id}`));
  await database.write((tx) => insert(tx, 'z'));
  let runs = 0;
  const write = (steps: (tx: Transaction) => readonly (() => Promise<unknown>)[]): Promise<void> =>
    database.write((tx) => {
      runs += 1;
      return tx.inOrder(steps(tx));
    }, appending);
  await Promise.all([
    write((tx) => [() => child(tx, 'z'), () => parent(tx, 'a'), () => child(tx, 'a')]),
    write((tx) => [() => parent(tx, 'b'), () => child(tx, 'b')]),
    write((tx) => [() => child(tx, 'z'), () => parent(tx, 'c'), () => child(tx, 'c')]),
  ]);
  // Nothing had to be run again.
  assert.equal(runs, 3);
  assert.deepEqual((await stored(database)).ids, 'abcz');
});
