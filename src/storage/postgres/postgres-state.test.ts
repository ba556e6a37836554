import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startCountingProxy } from '../../../test/support/counting-proxy.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { createInstanceDatabase, openPostgresDatabase } from '../../../test/support/postgres-database.ts';
import { openTestPostgres } from '../../../test/support/postgres.ts';
import { systemClock } from '../../base/clock.ts';
import { sql } from '../../sql/sql.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import type { PostgresPool } from './postgres-pool.ts';
import { endedMax } from './postgres-snapshot.ts';
import { PostgresState } from './postgres-state.ts';
import { openPostgres } from './postgres-database.ts';

async function open(t: TestContext) {
  const server = await openTestPostgres();
  const url = new URL(await createInstanceDatabase());
  const proxy = await startCountingProxy(t, Number(url.port));
  url.port = String(proxy.port);
  const { database, pool } = await openPostgresDatabase(t, { url: url.href });
  await database.write((tx) => tx.run(sql`CREATE TABLE i_test.t (number integer)`));
  const insert = (): Promise<number> => database.write((tx) => tx.run(sql`INSERT INTO i_test.t VALUES (1)`));
  const state = new PostgresState(pool);
  t.after(() => state.stop());
  return { server, url: url.href, proxy, database, pool, state, insert };
}

/** Others write to the server as well, and a connection may be under way. */
function told(state: PostgresState): Promise<object> {
  return eventually('the state is known', () => state.since());
}

/** Known, and the same when it is asked for again. */
function toldTwice(state: PostgresState): Promise<object> {
  return eventually('it stays what it is', async () => {
    const first = await state.since();
    return first !== undefined && first === (await state.since()) && first;
  });
}

test('a state is the same object until something is committed', async (t) => {
  const { state, insert } = await open(t);
  for (let commit = 0; commit < 5; commit += 1) {
    const before = await toldTwice(state);
    await insert();
    assert.notEqual(await told(state), before);
  }
});

test('it takes a question, and one for all who ask in the same turn', async (t) => {
  const { state, proxy } = await open(t);
  await toldTwice(state);
  await eventually('the connection is the same for all', async () => {
    const { statements } = proxy;
    const later = async (_: unknown, steps: number): Promise<object | undefined> => {
      for (let step = 0; step < steps; step += 1) await Promise.resolve();
      return state.since();
    };
    const states = await Promise.all(Array.from({ length: 50 }, later));
    return proxy.statements === statements + 1 && new Set(states).size === 1;
  });
});

test('who asks after a commit is not told what was asked for before it', async (t) => {
  let tries = 1;
  while (!(await toldApart(t))) assert.ok((tries += 1) <= 20, 'no answer was in time');
});

/** False where a slow machine has kept the first answer waiting for too long. */
async function toldApart(t: TestContext): Promise<boolean> {
  const { state, proxy, insert } = await open(t);
  // A statement's text is sent once on each connection, so that only the first question is held.
  const release = proxy.holdAnswersTo('pg_current_snapshot');
  const { statements } = proxy;
  const first = await eventually('it is asked', () => {
    const asked = state.since();
    return asked !== undefined && [asked];
  });
  await eventually('it is on its way', () => proxy.statements > statements);
  await insert();
  const asOfMs = systemClock.monotonic();
  const sent = proxy.statements;
  const ask = async (since?: number): Promise<object | undefined> => state.since(since);
  const later: Promise<object | undefined>[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    later.push(ask());
    await new Promise(setImmediate);
  }
  release();
  const before = await first[0];
  later.push(ask(asOfMs));
  const states = await Promise.all(later);
  if (before === undefined) return false;
  assert.ok(!states.includes(before));
  assert.equal(proxy.statements, sent + 1, 'they share the next question');
  return true;
}

test('a state that was asked for since then will do, and no older one', async (t) => {
  const { state, proxy } = await open(t);
  const before = systemClock.monotonic();
  const known = await toldTwice(state);
  await eventually('it costs no question', async () => {
    const { statements } = proxy;
    return state.since(before) === known && proxy.statements === statements;
  });
  assert.ok(state.since(systemClock.monotonic()) instanceof Promise || state.since() === undefined);
});

test('what one connection has told is nothing to another', async (t) => {
  const { server, url, state } = await open(t);
  const before = await toldTwice(state);
  await server.killBackends(url, `query LIKE '%pg_current_snapshot%'`);
  assert.notEqual(await told(state), before);
});

test('what is written aside makes no other state, and what is written beside it does', async (t) => {
  const { state, pool, insert } = await open(t);
  const aside = openPostgres({ pool, instanceId: 'aside', schema: 'i_test', aside: state });
  t.after(() => aside.stop());
  const insertAside = (): Promise<number> =>
    aside.write((tx) => tx.run(sql`INSERT INTO i_test.t VALUES (2)`));
  await toldTwice(state);
  await eventually('nothing has changed', async () => {
    const before = await state.since();
    await insertAside();
    return before !== undefined && before === (await state.since());
  });
  const before = await toldTwice(state);
  await Promise.all([insertAside(), insert(), insertAside()]);
  assert.notEqual(await told(state), before);
});

test('numbers that were told of before a connection was lost are those of others behind it', async (t) => {
  const { server, url, state, database, insert } = await open(t);
  await toldTwice(state);
  const [row] = await database.tuples(sql`SELECT pg_snapshot_xmax(pg_current_snapshot())::text`);
  for (let number = 0; number < 500; number += 1) state.ignore(Number(row?.[0]) + number);
  await server.killBackends(url, `query LIKE '%pg_current_snapshot%'`);
  const before = await toldTwice(state);
  await insert();
  assert.notEqual(await told(state), before);
});

test('more is not kept of what is written aside than is looked through, as where nobody reads', async (t) => {
  const { state, database } = await open(t);
  const before = await toldTwice(state);
  const [row] = await database.tuples(sql`SELECT pg_snapshot_xmax(pg_current_snapshot())::text`);
  for (let number = 0; number <= endedMax; number += 1) state.ignore(Number(row?.[0]) + number);
  assert.notEqual(await told(state), before);
});

test('where every answer is another one reads do without, until it stays what it is', async (t) => {
  const { state, proxy, database, insert } = await open(t);
  const toldAnew = async (): Promise<object | undefined> => {
    await insert();
    return state.since();
  };
  const readWithout = async (): Promise<void> => {
    const { statements } = proxy;
    // With a round trip each, or a connection might only be on its way.
    for (let read = 0; read < 50; read += 1) {
      assert.equal(await state.since(), undefined);
      await database.get(sql`SELECT 1`);
    }
    assert.equal(proxy.statements, statements + 50);
  };
  await eventually('nobody asks any more', async () => {
    for (let commit = 0; commit < 8; commit += 1) await toldAnew();
    await readWithout();
    while ((await toldAnew()) === undefined);
    // Two have asked in between.
    await toldAnew();
    await readWithout();
    return true;
  });
  await toldTwice(state);
});

test('a connection that says nothing keeps nobody waiting, and is not used any more', async (t) => {
  const { pool } = await open(t);
  const lent: PostgresConnection[] = [];
  const noting: Pick<PostgresPool, 'lend'> = {
    lend: (use) =>
      pool.lend((connection) => {
        lent.push(connection);
        // It answers nothing while this lasts.
        const asleep = connection.tuples(sql`SELECT pg_sleep(2)`);
        return Promise.all([use(connection), asleep.catch(() => undefined)]).then(([used]) => used);
      }),
  };
  const state = new PostgresState(noting);
  t.after(() => state.stop());
  const asked = await eventually('it is asked', () => {
    const now = state.since();
    return now !== undefined && [now];
  });
  assert.equal(await asked[0], undefined);
  assert.equal(lent.length, 1);
  // Reads do without for a while, and then with another one.
  for (let read = 0; read < 101; read += 1) assert.equal(state.since(), undefined);
  await eventually('another one is lent', () => lent.length === 2);
});

test('where no connection is to be had reads do without', async (t) => {
  const { state, pool } = await open(t);
  await pool.stop();
  for (let read = 0; read < 300; read += 1) {
    assert.equal(state.since(), undefined);
    await new Promise(setImmediate);
  }
});

test('when it stops, the connection is given back, and nothing is asked on it any more', async (t) => {
  const { state, proxy, pool } = await open(t);
  const asked = await eventually('it is asked', async () => {
    await told(state);
    const now = state.since();
    return now !== undefined && [now];
  });
  const { statements } = proxy;
  state.stop();
  assert.equal(await asked[0], undefined);
  assert.equal(state.since(), undefined);
  await pool.stop();
  assert.equal(proxy.statements, statements);
});
