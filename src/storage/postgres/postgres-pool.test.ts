import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { heldStatement, holdStatements } from '../../../test/support/hold-statements.ts';
import { createInstanceDatabase, openPostgresDatabase } from '../../../test/support/postgres-database.ts';
import { ask, startTestPostgres } from '../../../test/support/postgres.ts';
import { AppError } from '../../base/errors.ts';
import { sql } from '../../sql/sql.ts';
import { openPostgresPool } from './postgres-pool.ts';

test('a borrower waits for a connection only so long, and only with so many others', async (t) => {
  const { database, url } = await openPostgresDatabase(t, { max: 1, connectTimeoutMs: 2_000, waitingMax: 2 });
  const release = await holdStatements(t, url);
  const slow = database.get(heldStatement);
  // It has the connection from the next turn on, and waits no more itself.
  await new Promise(setImmediate);
  const refused: string[] = [];
  const ask = (name: string): Promise<void> =>
    assert.rejects(database.get(sql`SELECT 1`), isUnavailable).then(() => void refused.push(name));
  await Promise.all(['first', 'second', 'too many'].map(ask));
  assert.deepEqual(refused, ['too many', 'first', 'second']);
  await release();
  await slow;
  assert.deepEqual({ ...(await database.get(sql`SELECT 1 AS one`)) }, { one: 1 });
});

test('one instance leaves connections for others', async (t) => {
  const { database, open, url } = await openPostgresDatabase(t, { max: 3 });
  const release = await holdStatements(t, url);
  const busy = open({ instanceId: 'busy', writersMax: 2 });
  const works = [1, 2, 3, 4, 5].map(() => busy.write((tx) => tx.get(heldStatement)));
  await database.write((tx) => tx.get(sql`SELECT 1`));
  await release();
  await Promise.all(works);
});

test('a server that has no connection left is unavailable', async (t) => {
  const server = await startTestPostgres({
    settings: ['max_connections=5', 'superuser_reserved_connections=0'],
  });
  t.after(() => server.stop());
  const { database } = await openPostgresDatabase(t, { url: server.url, max: 10 });
  // One connection is taken by it, and four are left.
  const release = await holdStatements(t, server.url);
  const refused: unknown[] = [];
  const asked = Array.from({ length: 10 }, () =>
    database.get(heldStatement).catch((error: unknown) => void refused.push(error)),
  );
  await eventually('six are refused', () => refused.length === 6);
  await release();
  await Promise.all(asked);
  assert.equal(refused.length, 6);
  for (const error of refused) assert.ok(isUnavailable(error), String(error));
  await database.get(sql`SELECT 1`);
});

test('a server that may lose acknowledged writes is refused, unless loss is allowed', async (t) => {
  const careless = await startTestPostgres({ settings: ['fsync=off'] });
  t.after(() => careless.stop());
  await assert.rejects(openPostgresPool({ url: careless.url }), /fsync is off/);
  const pool = await openPostgresPool({ url: careless.url, isLossAllowed: true });
  await pool.stop();
  const url = await createInstanceDatabase();
  const name = new URL(url).pathname.slice(1);
  await ask(url, `ALTER DATABASE ${name} SET synchronous_commit = off`);
  await assert.rejects(openPostgresPool({ url }), /synchronous_commit is off/);
  await ask(
    url,
    `ALTER DATABASE ${name} RESET ALL; ALTER DATABASE ${name} SET default_transaction_read_only = on`,
  );
  await assert.rejects(openPostgresPool({ url }), /read-only/);
});

test('a database that lacks characters is refused', async () => {
  const url = await createInstanceDatabase();
  const name = `${new URL(url).pathname.slice(1)}_latin`;
  await ask(url, `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'`);
  const latin = new URL(url);
  latin.pathname = `/${name}`;
  await assert.rejects(
    openPostgresPool({ url: latin.href }),
    /the encoding UTF8 is needed, this one has LATIN1/,
  );
});

test('a server that is not there is unavailable, and so is a pool that was stopped', async (t) => {
  await assert.rejects(openPostgresPool({ url: 'postgres://postgres@127.0.0.1:1/none' }), isUnavailable);
  const { database, pool } = await openPostgresDatabase(t);
  const last = database.get(sql`SELECT pg_sleep(0.1)`);
  await new Promise((resolve) => setTimeout(resolve, 30));
  await pool.stop();
  await last;
  await assert.rejects(database.get(sql`SELECT 1`), isUnavailable);
});

test('a session that ends as it begins costs its borrower a refusal, and the process nothing', async (t) => {
  const { pool, url } = await openPostgresDatabase(t);
  const name = new URL(url).pathname.slice(1);
  await ask(url, `ALTER DATABASE ${name} SET idle_session_timeout = 1`);
  // What comes while the process is busy it reads in one piece: that the session has begun, and that it is over.
  const busy = setInterval(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50), 1);
  t.after(() => clearInterval(busy));
  // The one that is there has begun before that.
  await pool.lend(async (first) => {
    const refusals: unknown[] = [];
    // Where the server is slow to end one, it lasts, and the next must be another one.
    for (let times = 0; times < 200 && refusals.length < 5; times += 1)
      await pool
        .lend(async (connection) => connection.close())
        .catch((error: unknown) => refusals.push(error));
    assert.deepEqual(refusals.map(isUnavailable), [true, true, true, true, true]);
    assert.equal(first.isLost, false);
  });
});

test('a session has our parameters, whatever its role has', async (t) => {
  const url = await createInstanceDatabase();
  const name = new URL(url).pathname.slice(1);
  const all = Object.entries(givenAndExpected);
  const give = all.map(
    ([setting, { given }]) => `ALTER ROLE CURRENT_USER IN DATABASE ${name} SET ${setting} = '${given}'`,
  );
  await ask(url, give.join(';'));
  const { database } = await openPostgresDatabase(t, {
    url,
    statementTimeoutMs: 7_000,
    transactionTimeoutMs: 8_000,
  });
  // Before 17 PostgreSQL has no limit for a whole transaction: there this process alone ends it.
  const version = await database.get(sql`SELECT current_setting('server_version_num')::int AS number`);
  const whole = Number(version?.['number']) >= 170_000 ? '8s' : null;
  const expected = [['transaction_timeout', whole], ...all.map(([setting, one]) => [setting, one.expected])];
  const found = expected.map(async ([setting = '']) => {
    const [row] = await database.tuples(sql`SELECT current_setting(${setting}, TRUE)`);
    return [setting, row?.[0]];
  });
  assert.deepEqual(await Promise.all(found), expected);
});

const givenAndExpected = {
  bytea_output: { given: 'escape', expected: 'hex' },
  client_encoding: { given: 'latin1', expected: 'UTF8' },
  client_min_messages: { given: 'error', expected: 'warning' },
  default_transaction_isolation: { given: 'serializable', expected: 'read committed' },
  extra_float_digits: { given: '-15', expected: '1' },
  idle_in_transaction_session_timeout: { given: '9s', expected: '8s' },
  idle_session_timeout: { given: '9s', expected: '0' },
  jit: { given: 'on', expected: 'off' },
  lock_timeout: { given: '9s', expected: '0' },
  search_path: { given: 'public', expected: '' },
  standard_conforming_strings: { given: 'off', expected: 'on' },
  statement_timeout: { given: '9s', expected: '7s' },
  TimeZone: { given: 'Pacific/Apia', expected: 'UTC' },
};

test('a session that was found to keep what it acknowledges goes on keeping it', async (t) => {
  const server = await startTestPostgres();
  t.after(() => server.stop());
  const { database } = await openPostgresDatabase(t, { url: server.url, max: 1 });
  const sinceMs = Date.now();
  await ask(server.url, 'ALTER SYSTEM SET synchronous_commit = off');
  await ask(server.url, 'SELECT pg_reload_conf()');
  const loaded = sql`SELECT extract(epoch FROM pg_conf_load_time()) * 1000`;
  await eventually('the session has heard of it', async () => {
    const [row] = await database.tuples(loaded);
    return Number(row?.[0]) >= sinceMs;
  });
  assert.deepEqual(await database.tuples(sql`SELECT current_setting('synchronous_commit')`), [['on']]);
  await assert.rejects(openPostgresPool({ url: server.url }), /synchronous_commit is off/);
});

function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && error.code === 'unavailable' && error.retryAfter === 1;
}
