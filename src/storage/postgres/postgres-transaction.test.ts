import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPostgresDatabase } from '../../../test/support/postgres-database.ts';
import { lookupToChange, sql } from '../../sql/sql.ts';
import type { Transaction, WriteOptions } from '../database.ts';

const setting = sql`SELECT current_setting('statement_timeout')`;
/** Far longer than the test may take. */
const sleep = sql`SELECT pg_sleep(600)`;

const late = { name: 'QueryTimeout', code: 'unavailable', message: 'The query took too long.' };

async function timesOf(tx: Transaction): Promise<readonly unknown[]> {
  const asked = [tx.tuples(setting), tx.search(setting), tx.tuples(setting)];
  return (await Promise.all(asked)).flat(2);
}

test('a search in a transaction has the query timeout, and other statements have their own time', async (t) => {
  const options = { statementTimeoutMs: 7_000, queryTimeoutMs: 3_000 };
  const { database } = await openPostgresDatabase(t, options);
  const times: readonly (readonly [options: WriteOptions, times: readonly string[]])[] = [
    [{}, ['7s', '3s', '7s']],
    [{ isAppending: true }, ['7s', '3s', '7s']],
    [{ statementMsMax: 5_000 }, ['5s', '3s', '5s']],
    [{ statementMsMax: 2_000 }, ['2s', '2s', '2s']],
    [{ isExclusive: true }, ['10min', '10min', '10min']],
  ];
  for (const [work, expected] of times)
    assert.deepEqual(await database.write(timesOf, work), expected, JSON.stringify(work));
});

test('a search in a transaction that takes too long fails the work, which may go on without its answer', async (t) => {
  const { database } = await openPostgresDatabase(t, { statementTimeoutMs: 600_000, queryTimeoutMs: 50 });
  for (const work of [{}, { isAppending: true }])
    await assert.rejects(
      database.write((tx) => tx.search(sleep), work),
      late,
    );
  const times = await database.write(async (tx) => {
    await assert.rejects(tx.search(sleep), late);
    // Nothing is left for another one.
    await assert.rejects(tx.search(setting), late);
    return (await Promise.all([tx.tuples(setting), tx.search(setting, { isExempt: true })])).flat(2);
  });
  assert.deepEqual(times, ['10min', '50ms']);
});

test('A15 the searches of a work share the query timeout', async (t) => {
  const { database } = await openPostgresDatabase(t, { statementTimeoutMs: 600_000, queryTimeoutMs: 1_000 });
  for (const options of [{}, { isAppending: true }]) {
    let searches = 0;
    const work = async (tx: Transaction): Promise<void> => {
      // Each of them would be in time.
      for (; searches < 100; searches += 1) await tx.search(sql`SELECT pg_sleep(0.2)`);
    };
    await assert.rejects(database.write(work, options), late);
    assert.ok(searches < 50, `${searches} searches`);
  }
  const quick = async (tx: Transaction): Promise<void> => {
    for (let searches = 0; searches < 100; searches += 1) await tx.search(sql`SELECT 1`);
  };
  await database.write(quick);
});

test('A15 a work that is run again has no more time for its searches', async (t) => {
  const { database } = await openPostgresDatabase(t, { statementTimeoutMs: 600_000, queryTimeoutMs: 50 });
  const { names } = database;
  const table = names.collectionTable('rows');
  await database.write(async (tx) => {
    await tx.run(sql`CREATE TABLE ${table} (id TEXT PRIMARY KEY)`);
    await tx.run(sql`INSERT INTO ${table} VALUES ('a')`);
    await tx.run(sql`CREATE SEQUENCE ${names.collectionTable('looks')}`);
  });
  // A rolled back transaction takes nothing back from a sequence.
  const look = sql`SELECT nextval('${names.collectionTable('looks')}'), pg_sleep(600)`;
  const lookUp = lookupToChange(sql`SELECT id FROM ${table} WHERE id = ${'a'}${names.locks.forUpdate}`);
  const change = async (tx: Transaction): Promise<unknown> => {
    await tx.tuples(lookUp);
    return tx.search(look);
  };
  await assert.rejects(database.write(change, { changes: 'a' }), late);
  assert.deepEqual(await database.tuples(sql`SELECT last_value FROM ${names.collectionTable('looks')}`), [
    [1],
  ]);
});

test('a work fails by its first failed statement, not by those that were sent behind it', async (t) => {
  const { database } = await openPostgresDatabase(t);
  const table = database.names.collectionTable('note');
  const create = sql`CREATE TABLE ${table} (id text PRIMARY KEY)`;
  await database.write((tx) => tx.run(create), { isExclusive: true });
  await database.write((tx) => tx.run(sql`INSERT INTO ${table} VALUES ('a')`));
  let tries = 0;
  const work = async (tx: Transaction): Promise<void> => {
    tries += 1;
    // The connection prepares a text that it gets for the second time, and only there is it that the server does not know it.
    const next = (id: string) => (): Promise<number> => tx.run(sql`INSERT INTO ${table} (id) SELECT ${id}`);
    const duplicate = (): Promise<number> => tx.run(sql`INSERT INTO ${table} VALUES ('a')`);
    await tx.inOrder([duplicate, next('b'), next('c'), next('d')]);
  };
  await assert.rejects(database.write(work), { name: 'UniqueViolation' });
  assert.equal(tries, 1);
});
