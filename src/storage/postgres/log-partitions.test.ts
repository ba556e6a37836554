import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Client } from 'pg';
import { openPostgresDatabase, type TestPostgresDatabase } from '../../../test/support/postgres-database.ts';
import { ask } from '../../../test/support/postgres.ts';
import { sql } from '../../sql/sql.ts';
import type { Database } from '../database.ts';
import { migrate } from '../migrate.ts';
import { postgresMigrations } from '../migrations/postgres-migrations.ts';
import { dropPartition, type LogPartition, makePartitions, readPartitions } from './log-partitions.ts';

const million = 1_000_000;
const tables = ['event', 'delivery', 'outcome', 'attempt'];

async function openLog(t: TestContext): Promise<TestPostgresDatabase> {
  const opened = await openPostgresDatabase(t);
  await ask(opened.url, 'DROP SCHEMA chancery CASCADE');
  await migrate(opened.database, postgresMigrations);
  return opened;
}

/** Inserts an event and that endpoint 1 is told of it; returns its position. */
async function append(database: Database, options = {}): Promise<number> {
  const { names } = database;
  const columns = sql`${names.instance.column}id, kind, collection, collection_name, record, revision, created, body`;
  const [row] = await database.write(
    (tx) =>
      tx.returning(sql`
        WITH inserted AS (
          INSERT INTO ${names.table('$event')} (${columns})
          VALUES (${names.instance.value}'', 'record.create', 'c', 'posts', 'r', 1, '2026-01-01 00:00:00.000Z', '') RETURNING position)
        INSERT INTO ${names.table('$delivery')} (${names.instance.column}event, endpoint)
        SELECT ${names.instance.value}position, 1 FROM inserted RETURNING event`),
    options,
  );
  return Number(row?.[0]);
}

async function insertOutcome(database: Database, event: number): Promise<void> {
  const { names } = database;
  await database.write((tx) =>
    tx.run(sql`
      INSERT INTO ${names.table('$outcome')} (${names.instance.column}event, endpoint, attempts, is_wide, status, cause, updated)
      VALUES (${names.instance.value}${event}, 1, 1, 0, 'delivered', '', '') ON CONFLICT DO NOTHING`),
  );
}

function jumpTo(url: string, position: number): Promise<unknown> {
  return ask(url, `SELECT setval('chancery.event_position_seq', ${position})`);
}

/** The bounds of the partitions of each table, which have to be the same. */
async function bounds(database: Database): Promise<readonly (readonly [first: number, end: number])[]> {
  const partitions = await readPartitions(database);
  const of = (table: string): [number, number][] =>
    partitions.filter((one) => one.table === table).map(({ first, end }) => [first, end]);
  for (const table of tables) assert.deepEqual(of(table), of('event'), table);
  return of('event');
}

async function partitionAt(database: Database, table: string, position: number): Promise<LogPartition> {
  const partitions = await readPartitions(database);
  const found = partitions.find(
    (one) => one.table === table && one.first <= position && one.end > position && one.state !== 'left',
  );
  assert.ok(found);
  return found;
}

async function begin(t: TestContext, url: string, statement: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  t.after(() => client.end());
  await client.query('BEGIN');
  await client.query(statement);
  return client;
}

const three = [
  [0, million + 1],
  [million + 1, 2 * million + 1],
  [2 * million + 1, 3 * million + 1],
] as const;

test('an empty log has a partition that is written and two behind it', async (t) => {
  const { database } = await openLog(t);
  assert.deepEqual(await bounds(database), three);
  assert.equal(await database.write((tx) => makePartitions(tx, { size: million })), million);
  assert.deepEqual(await bounds(database), three);
  assert.equal(await append(database), 1);
});

test('a write whose rows have no partition makes it and is kept, as those are that share its transaction', async (t) => {
  const { database, url } = await openLog(t);
  await jumpTo(url, 7 * million);
  assert.ok((await append(database)) > 7 * million);
  const last = (await bounds(database)).at(-1);
  assert.ok(last !== undefined && last[0] > 7 * million);
  await jumpTo(url, 20 * million);
  const positions = await Promise.all(
    Array.from({ length: 30 }, () => append(database, { isAppending: true })),
  );
  assert.equal(new Set(positions).size, 30);
  assert.ok(Math.min(...positions) > 20 * million);
  const [events] = await ask(url, 'SELECT count(*)::integer AS count FROM chancery.event');
  assert.deepEqual(events, { count: 31 });
  // What is moved here has positions that the sequence does not know yet.
  await insertOutcome(database, 50 * million);
  assert.equal((await partitionAt(database, 'event', 50 * million)).end > 50 * million, true);
  await bounds(database);
});

test('when the log has reached a partition, one of several nodes makes the next', async (t) => {
  const { database, open, url } = await openLog(t);
  await jumpTo(url, million + 1);
  const others = Array.from({ length: 4 }, (_, at) => open({ instanceId: `other${at}` }));
  const made = await Promise.all(
    others.map((other) => other.write((tx) => makePartitions(tx, { size: 10 }))),
  );
  assert.deepEqual(
    made,
    Array.from({ length: 4 }, () => 2 * million),
  );
  assert.deepEqual(await bounds(database), [...three, [3 * million + 1, 3 * million + 11]]);
});

test('partitions are made and dropped while others read and write, and who still reads delays only the drop', async (t) => {
  const { database, url } = await openLog(t);
  await append(database);
  await jumpTo(url, million + 1);
  const reader = await begin(t, url, 'SELECT * FROM chancery.event');
  const writer = await begin(t, url, 'LOCK TABLE chancery.event, chancery.delivery IN ROW EXCLUSIVE MODE');
  await database.write((tx) => makePartitions(tx, { size: million }));
  assert.equal((await bounds(database)).length, 4);
  await writer.query('ROLLBACK');

  const oldest = await partitionAt(database, 'event', 1);
  const short = await openPostgresDatabase(t, { url, statementTimeoutMs: 300 });
  await assert.rejects(dropPartition(short.database, oldest), /took too long/);
  const leaving = await partitionAt(database, 'event', 1);
  assert.equal(leaving.state, 'leaving');
  await append(database);
  const { names } = database;
  const positions = await database.tuples(sql`SELECT position FROM ${names.table('$event')}`);
  assert.deepEqual(positions, [[million + 2]]);
  await reader.query('ROLLBACK');
  await dropPartition(database, leaving);
  const left = (await readPartitions(database)).filter(({ table }) => table === 'event');
  assert.deepEqual(
    left.map(({ first }) => first),
    three
      .slice(1)
      .map(([first]) => first)
      .concat(3 * million + 1),
  );
});

test('the result of an event whose partition is gone is kept, and so does not fail those of others', async (t) => {
  const { database, url } = await openLog(t);
  for (const table of tables) await dropPartition(database, await partitionAt(database, table, 1));
  await insertOutcome(database, 5);
  await insertOutcome(database, 6);
  const outcomes = await ask(url, 'SELECT event FROM chancery.outcome ORDER BY event');
  assert.deepEqual(outcomes, [{ event: '5' }, { event: '6' }]);
  assert.equal((await bounds(database)).length, 3);
});
