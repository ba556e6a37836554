import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { heldStatement, holdStatements } from '../../../test/support/hold-statements.ts';
import { openPostgresDatabase } from '../../../test/support/postgres-database.ts';
import { literal, sql, type Sql } from '../../sql/sql.ts';

/** Other texts, as the same search would be one. */
function backendOf(number: number): Sql {
  return sql`SELECT pg_backend_pid(), ${literal(number)}`;
}

test('a search that is held up holds up no other', async (t) => {
  const { database, url } = await openPostgresDatabase(t);
  const release = await holdStatements(t, url);
  const held = database.search(heldStatement);
  await Promise.all([1, 2, 3].map((number) => database.search(backendOf(number))));
  await release();
  assert.equal((await held).length, 1);
});

test('searches with other times each have their own', async (t) => {
  const { database } = await openPostgresDatabase(t, {
    max: 1,
    statementTimeoutMs: 7_000,
    queryTimeoutMs: 3_000,
  });
  const setting = sql`SELECT current_setting('statement_timeout')`;
  const both = [database.search(setting), database.search(setting, { isQuick: true })];
  assert.deepEqual(await Promise.all(both), [[['3s']], [['7s']]]);
});

test('a search that fails leaves the others their answers, and so does a connection that is lost', async (t) => {
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

test('a pool that has no connection fails all who wait for one', async (t) => {
  const { database, pool } = await openPostgresDatabase(t);
  await pool.stop();
  const asked = [1, 2, 3].map((number) => database.search(backendOf(number)));
  for (const { status } of await Promise.allSettled(asked)) assert.equal(status, 'rejected');
});
