import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openPostgresDatabase } from '../../test/support/postgres-database.ts';
import { sql } from '../sql/sql.ts';
import type { Database, Transaction } from './database.ts';
import { UniqueViolation } from './engine-errors.ts';

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
  const results = await Promise.allSettled([
    database.write((tx) => insert(tx, 'a'), appending),
    database.write(async (tx) => {
      await insert(tx, 'b');
      throw new Error('no');
    }, appending),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
  assert.equal((await stored(database)).ids, 'a');
});

test('a work that fails before it has written anything spoils nothing', async (t) => {
  const database = await openNotes(t);
  let runs = 0;
  const results = await Promise.allSettled([
    database.write((tx) => insert(tx, 'a'), appending),
    database.write(async (tx) => {
      runs += 1;
      await tx.tuples(sql`SELECT 1`);
      throw new Error('no');
    }, appending),
    database.write((tx) => insert(tx, 'b'), appending),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.equal(runs, 1);
  assert.deepEqual(await stored(database), { ids: 'ab', transactions: 1 });
});

test('a work whose question fails takes no other with it', async (t) => {
  const database = await openNotes(t);
  const results = await Promise.allSettled([
    database.write((tx) => insert(tx, 'a'), appending),
    database.write((tx) => tx.tuples(sql`SELECT 1 / 0`), appending),
    database.write((tx) => insert(tx, 'b'), appending),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.equal((await stored(database)).ids, 'ab');
});

test('a stop waits for the works that have been asked for', async (t) => {
  const database = await openNotes(t);
  const writes = ['a', 'b'].map((id) => database.write((tx) => insert(tx, id), appending));
  await database.stop();
  assert.deepEqual(await Promise.all(writes), [1, 1]);
  await assert.rejects(
    database.write((tx) => insert(tx, 'c'), appending),
    /stopping/,
  );
});
