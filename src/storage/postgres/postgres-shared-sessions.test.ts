import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { heldStatement, holdStatements } from '../../../test/support/hold-statements.ts';
import { openPostgresDatabase } from '../../../test/support/postgres-database.ts';
import { timerRounds } from '../../../test/support/timer-rounds.ts';
import { literal, sql, type Sql } from '../../sql/sql.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import type { PostgresPool } from './postgres-pool.ts';
import { SharedSessions } from './postgres-shared-sessions.ts';

/** Other texts, as the same search would be one. */
function backendOf(number: number): Sql {
  return sql`SELECT pg_backend_pid(), ${literal(number)}`;
}

test('searches of one turn go out on a connection for each four of them', async (t) => {
  const { database } = await openPostgresDatabase(t);
  const all = await Promise.all(Array.from({ length: 12 }, (_, n) => database.search(backendOf(n))));
  assert.deepEqual(
    all.map(([row]) => row?.[1]),
    Array.from({ length: 12 }, (_, n) => n),
  );
  assert.equal(new Set(all.map(([row]) => row?.[0])).size, 3);
});

test('a search that is held up holds up nobody who is behind it', async (t) => {
  const { database, url } = await openPostgresDatabase(t);
  const release = await holdStatements(t, url);
  const held = database.search(heldStatement);
  const behind = [1, 2, 3].map((number) => database.search(backendOf(number)));
  await Promise.all(behind);
  // Nobody joins it any more, and all of the others are there.
  await Promise.all([4, 5, 6].map((number) => database.search(backendOf(number))));
  await release();
  assert.equal((await held).length, 1);
});

test('searches with other times do not share a connection, and each has its own', async (t) => {
  const { database } = await openPostgresDatabase(t, { statementTimeoutMs: 7_000, queryTimeoutMs: 3_000 });
  const setting = sql`SELECT current_setting('statement_timeout')`;
  const both = [database.search(setting), database.search(setting, { isQuick: true })];
  assert.deepEqual(await Promise.all(both), [[['3s']], [['7s']]]);
});

test('one that fails leaves the others their answers, and a connection that is lost fails those that are on it', async (t) => {
  const { database, url } = await openPostgresDatabase(t);
  const wrong = database.search(sql`SELECT 1 / ${0}::integer`);
  const right = database.search(backendOf(1));
  await assert.rejects(wrong, { code: 'bad_request' });
  assert.equal((await right).length, 1);
  await holdStatements(t, url);
  const held = database.search(heldStatement);
  const pids = sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  await Promise.all([
    assert.rejects(held, { code: 'unavailable' }),
    eventually('it is ended', async () => (await database.all(pids)).length > 0),
  ]);
  assert.equal((await database.search(backendOf(2))).length, 1);
});

test('nobody joins a connection that is held up, and who was behind is asked once more, and answered by that', async (t) => {
  const [first, behind, later] = [new TestQuestion(t), new TestQuestion(t), new TestQuestion(t)];
  const { pool } = await openPostgresDatabase(t);
  const sessions = sessionsOver(pool, 60_000);
  const all = [first, behind].map(({ ask }) => sessions.ask(ask, 1_000));
  await eventually('the one behind is asked again', () => behind.asked.length === 2);
  assert.notEqual(behind.asked[1]?.connection, first.asked[0]?.connection);
  all.push(sessions.ask(later.ask, 1_000));
  await eventually('the later one is asked', () => later.asked.length === 1);
  assert.notEqual(later.asked[0]?.connection, first.asked[0]?.connection);
  // So many looks later nobody has been asked a third time.
  await timerRounds(250, 3);
  assert.equal(behind.asked.length, 2);
  behind.asked[0]?.answer.reject(new Error('too late to be told'));
  behind.asked[1]?.answer.resolve('behind');
  assert.equal(await all[1], 'behind');
  first.asked[0]?.answer.resolve('first');
  later.asked[0]?.answer.resolve('later');
  assert.deepEqual(await Promise.all(all), ['first', 'behind', 'later']);
});

test('a connection that is lost is asked nothing more', async (t) => {
  const first = new TestQuestion(t);
  const { pool } = await openPostgresDatabase(t);
  const sessions = sessionsOver(pool, 60_000);
  const held = sessions.ask(first.ask, 1_000);
  await eventually('it is asked', () => first.asked.length === 1);
  first.asked[0]?.connection.close();
  const { rows } = await sessions.ask((connection) => connection.tuples(sql`SELECT 1`), 1_000);
  assert.deepEqual(rows, [[1]]);
  first.asked[0]?.answer.resolve('first');
  assert.equal(await held, 'first');
});

test('a connection that answers nothing for too long is given up, and so is one on which somebody is asked again', async (t) => {
  const { pool, url } = await openPostgresDatabase(t);
  await holdStatements(t, url);
  const sessions = sessionsOver(pool, 1);
  const ask = (connection: PostgresConnection): Promise<unknown> => connection.tuples(heldStatement);
  await Promise.all([1, 2].map(() => assert.rejects(sessions.ask(ask, 60_000), { code: 'unavailable' })));
});

test('a connection goes back to its pool however many ask for it', async (t) => {
  const { pool } = await openPostgresDatabase(t);
  let lent = 0;
  const sessions = new SharedSessions({
    lend: (use) => {
      lent += 1;
      return pool.lend(use);
    },
    silenceMsMax: 60_000,
  });
  // There is always one that is not answered yet.
  let answer = (): void => undefined;
  let last: Promise<void> = Promise.resolve();
  for (let number = 1; number <= 250; number += 1) {
    const before = answer;
    const asked = new Promise<void>((resolve) => (answer = resolve));
    const next = sessions.ask(() => asked, 1_000);
    before();
    await last;
    last = next;
  }
  answer();
  await last;
  assert.equal(lent, 3);
});

test('a pool that has no connection fails all who wait for one', async (t) => {
  const { database, pool } = await openPostgresDatabase(t);
  await pool.stop();
  const asked = [1, 2, 3].map((number) => database.search(backendOf(number)));
  for (const { status } of await Promise.allSettled(asked)) assert.equal(status, 'rejected');
});

function sessionsOver(pool: PostgresPool, silenceMsMax: number): SharedSessions {
  return new SharedSessions({ lend: (use) => pool.lend(use), silenceMsMax });
}

/** Is answered when the test says so, and at its end: to be made before the pool, whose stop waits for all answers. */
class TestQuestion {
  readonly asked: {
    readonly connection: PostgresConnection;
    readonly answer: PromiseWithResolvers<string>;
  }[] = [];

  constructor(t: TestContext) {
    t.after(() => {
      for (const { answer } of this.asked) answer.resolve('the test is over');
    });
  }

  readonly ask = (connection: PostgresConnection): Promise<string> => {
    const answer = Promise.withResolvers<string>();
    this.asked.push({ connection, answer });
    return answer.promise;
  };
}
