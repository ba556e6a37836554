import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCommitProxy } from '../../../test/support/commit-proxy.ts';
import { startCountingProxy } from '../../../test/support/counting-proxy.ts';
import { eventually } from '../../../test/support/eventually.ts';
import {
  createInstanceDatabase,
  openPostgresDatabase,
  type TestPostgresDatabase,
  testSchema,
} from '../../../test/support/postgres-database.ts';
import { ask, openTestPostgres, startTestPostgres } from '../../../test/support/postgres.ts';
import { AppError } from '../../base/errors.ts';
import { sql } from '../../sql/sql.ts';
import type { Database, Transaction } from '../database.ts';
import { EngineFailure } from '../engine-errors.ts';
import { openPostgres } from './postgres-database.ts';
import { openPostgresPool } from './postgres-pool.ts';

const createRows = `CREATE TABLE ${testSchema}.row (id text PRIMARY KEY)`;

test('a backend that is ended in the middle of a work costs that work all it did, and the next one nothing', async (t) => {
  const { database, url } = await openRows(t);
  const server = await openTestPostgres();
  const own = database.write(async (tx) => {
    await insert(database, tx, 'a');
    await tx.get(sql`SELECT pg_terminate_backend(pg_backend_pid())`);
  });
  await assert.rejects(own, isUnavailable);
  // A work that minds no error must not be answered as if it were kept.
  const careless = database.write(async (tx) => {
    await insert(database, tx, 'b');
    await tx.get(sql`SELECT pg_terminate_backend(pg_backend_pid())`).catch(() => undefined);
  });
  await assert.rejects(careless, isUnavailable);
  const waiting = database.write(async (tx) => {
    await insert(database, tx, 'c');
    await tx.get(sql`SELECT pg_sleep(60)`);
  });
  const ended = assert.rejects(waiting, isUnavailable);
  const isKilled = async (): Promise<boolean> =>
    (await server.killBackends(url, `query LIKE '%pg_sleep%'`)) === 1;
  await eventually('the waiting one is killed', isKilled);
  await ended;
  assert.deepEqual(await ids(database), []);
  // Idle ones, too, as soon as it is known here that they have ended.
  await server.killBackends(url);
  await eventually('a write', async () => {
    await database.write((tx) => insert(database, tx, 'd'));
    return true;
  });
  assert.deepEqual(await ids(database), ['d']);
});

test('a statement that takes too long is ended and reported as unavailable, and its connection goes on', async (t) => {
  const { database } = await openRows(t, { max: 1, statementTimeoutMs: 500 });
  const pid = sql`SELECT pg_backend_pid() AS pid`;
  const before = await database.get(pid);
  await assert.rejects(database.get(sql`SELECT pg_sleep(60)`), isUnavailable);
  const slow = database.write(async (tx) => {
    await insert(database, tx, 'a');
    await tx.get(sql`SELECT pg_sleep(60)`);
  });
  await assert.rejects(slow, isUnavailable);
  assert.deepEqual(await ids(database), []);
  assert.deepEqual(await database.get(pid), before);
  // Changes of tables have more time.
  await database.write((tx) => tx.get(sql`SELECT pg_sleep(0.8)`), { isExclusive: true });
});

test('a work may give its statements less time than others have', async (t) => {
  const { database } = await openRows(t, { max: 1 });
  const slow = database.write(
    async (tx) => {
      await insert(database, tx, 'a');
      await tx.get(sql`SELECT pg_sleep(5)`);
    },
    { statementMsMax: 100 },
  );
  await assert.rejects(slow, isUnavailable);
  assert.deepEqual(await ids(database), []);
  await database.write((tx) => tx.get(sql`SELECT pg_sleep(0.3)`));
});

test('a transaction that takes too long in all is ended', async (t) => {
  const { database } = await openRows(t, { transactionTimeoutMs: 1_000 });
  const long = database.write(async (tx) => {
    for (let n = 0; n < 600; n += 1) await tx.get(sql`SELECT pg_sleep(0.1)`);
  });
  await assert.rejects(long, isUnavailable);
  await database.write((tx) => insert(database, tx, 'a'));
});

test('a change of tables has more time in all, and no more than that', async (t) => {
  const { database, open } = await openRows(t, { transactionTimeoutMs: 1_000 });
  const sleepOften = (times: number) => async (tx: Transaction) => {
    for (let n = 0; n < times; n += 1) await tx.get(sql`SELECT pg_sleep(0.1)`);
  };
  await database.write(sleepOften(15), { isExclusive: true });
  const limited = open({ exclusiveTimeoutMs: 1_500 });
  await assert.rejects(limited.write(sleepOften(600), { isExclusive: true }), isUnavailable);
});

test('a network that swallows all packets blocks no caller for ever', async (t) => {
  const { database, proxy } = await openRowsThrough(t, startCountingProxy, {
    statementTimeoutMs: 1_000,
    transactionTimeoutMs: 1_000,
    connectTimeoutMs: 2_000,
  });
  await database.write((tx) => insert(database, tx, 'a'));
  proxy.swallow();
  const write = database.write((tx) => insert(database, tx, 'b'));
  const search = database.search(sql`SELECT 1`);
  const asked = [ids(database), write, ids(database), search];
  for (const result of await Promise.allSettled(asked)) {
    assert.ok(result.status === 'rejected' && isUnavailable(result.reason));
  }
});

for (const when of ['before', 'after'] as const) {
  test(`a connection that is cut ${when} the server has the COMMIT leaves the outcome unknown`, async (t) => {
    const { database, proxy, url } = await openRowsThrough(t, startCommitProxy);
    await database.write((tx) => insert(database, tx, 'whole'));
    const done = proxy.cutAtCommit('torn', when);
    const told: string[] = [];
    const cut = database.write(async (tx) => {
      await insert(database, tx, 'torn');
      tx.afterCommit(() => told.push('torn'));
    });
    await assert.rejects(cut, (error) => error instanceof EngineFailure && error.code === 'outcome_unknown');
    await done;
    assert.deepEqual(told, []);
    const rows = await ask(url, `SELECT id FROM ${testSchema}.row`);
    assert.equal(rows.length, when === 'before' ? 1 : 2);
  });
}

test('a commit whose wait for the standby was cancelled does not count as kept', async (t) => {
  const settings = ['wal_level=replica', 'max_wal_senders=1', 'synchronous_standby_names=nobody'];
  const server = await startTestPostgres({ settings });
  t.after(() => server.stop());
  // A role that is told of errors only must make no difference.
  const quiet = 'ALTER ROLE postgres SET client_min_messages = error';
  await ask(
    server.url,
    `SET synchronous_commit = local; ${quiet}; CREATE SCHEMA ${testSchema}; ${createRows}`,
  );
  const { database } = await openPostgresDatabase(t, { url: server.url });
  const told: string[] = [];
  const write = database.write(async (tx) => {
    await insert(database, tx, 'a');
    tx.afterCommit(() => told.push('a'));
  });
  const giveUp = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
  await Promise.all([
    assert.rejects(write, (error) => error instanceof EngineFailure),
    eventually('the commit waits', async () => (await ask(server.url, giveUp)).length > 0),
  ]);
  assert.deepEqual(told, []);
  assert.deepEqual(await ids(database), ['a']);
});

test('acknowledged writes survive crashes of the server, and others are reported as failed or unknown', async (t) => {
  const server = await startTestPostgres();
  t.after(() => server.stop());
  const url = await server.createDatabase();
  await ask(url, `CREATE SCHEMA ${testSchema}; ${createRows}`);
  const pool = await openPostgresPool({ url, max: 8 });
  t.after(() => pool.stop());
  const database = openPostgres({ pool, schema: testSchema, instanceId: 'test' });
  const run = new Load(database);
  const loops = Array.from({ length: 8 }, () => run.loop());
  for (const mode of ['immediate', 'fast', 'immediate'] as const) {
    await sleep(200);
    await server.restart(mode);
    const before = run.acknowledged.size;
    await eventually('it works again', () => run.acknowledged.size > before);
  }
  run.isOver = true;
  await Promise.all(loops);
  const stored = new Set(await ids(database));
  assert.deepEqual(
    [...run.acknowledged].filter((id) => !stored.has(id)),
    [],
  );
  assert.deepEqual(
    [...run.refused].filter((id) => stored.has(id)),
    [],
  );
  assert.deepEqual(run.strange, []);
  assert.ok(run.refused.size > 0);
});

/** Writes as fast as it can and keeps what it was told. */
class Load {
  readonly acknowledged = new Set<string>();
  readonly refused = new Set<string>();
  readonly strange: unknown[] = [];
  isOver = false;
  readonly #database: Database;
  #asked = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  async loop(): Promise<void> {
    while (!this.isOver) {
      const id = `n${(this.#asked += 1)}`;
      try {
        await this.#database.write((tx) => insert(this.#database, tx, id));
        this.acknowledged.add(id);
      } catch (error) {
        if (isUnavailable(error)) this.refused.add(id);
        else if (!(error instanceof EngineFailure)) this.strange.push(error);
        await sleep(5);
      }
    }
  }
}

interface OpenedRows {
  readonly database: Database;
  readonly open: TestPostgresDatabase['open'];
  readonly url: string;
}

async function openRows(
  t: TestContext,
  options: Parameters<typeof openPostgresDatabase>[1] = {},
): Promise<OpenedRows> {
  const url = await createInstanceDatabase();
  await ask(url, createRows);
  const { database, open } = await openPostgresDatabase(t, { url, ...options });
  return { database, open, url };
}

/** As openRows, through a proxy that `start` puts before the server. */
async function openRowsThrough<Proxy extends { readonly port: number }>(
  t: TestContext,
  start: (t: TestContext, serverPort: number) => Promise<Proxy>,
  options: Parameters<typeof openPostgresDatabase>[1] = {},
): Promise<OpenedRows & { readonly proxy: Proxy }> {
  const url = await createInstanceDatabase();
  await ask(url, createRows);
  const proxy = await start(t, Number(new URL(url).port));
  const proxied = new URL(url);
  proxied.port = String(proxy.port);
  const { database, open } = await openPostgresDatabase(t, { url: proxied.href, ...options });
  return { database, open, proxy, url };
}

async function insert(on: Database, tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`INSERT INTO ${on.names.collectionTable('row')} VALUES (${id})`);
}

async function ids(on: Database): Promise<readonly string[]> {
  return (await on.tuples(sql`SELECT id FROM ${on.names.collectionTable('row')}`)).map(([id]) => String(id));
}

function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && error.code === 'unavailable' && error.retryAfter !== undefined;
}
