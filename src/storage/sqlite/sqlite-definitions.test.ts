import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { sql, type Sql } from '../../sql/sql.ts';
import type { Database } from '../database.ts';
import { OutdatedDefinitions } from '../engine-errors.ts';
import { migrate } from '../migrate.ts';
import { instanceMigrations } from '../migrations/instance-migrations.ts';
import { ReaderPool } from './reader-pool.ts';
import { SqliteDefinitions } from './sqlite-definitions.ts';
import { openSqlite } from './sqlite-database.ts';

test('a write rests on definitions as another process has just changed them', async (t) => {
  const { ours, theirs } = await openTwice(t);
  await changeTable(theirs.database, 'b');
  assert.equal(ours.reads(), 0);
  const seen = await ours.database.write(async () => ours.reads());
  assert.equal(seen, 1);
  await ours.database.write(async () => undefined);
  assert.equal(ours.reads(), 1, 'what is known is not read again');
});

test('what the other process has written besides is no reason to read definitions', async (t) => {
  const { ours, theirs } = await openTwice(t);
  await theirs.database.write((tx) => tx.run(sql`INSERT INTO t VALUES ('x')`));
  await ours.database.write((tx) => tx.run(sql`INSERT INTO t VALUES ('y')`));
  assert.equal(ours.reads(), 0);
});

test('a change of our own is known, and read by the other one', async (t) => {
  const { ours, theirs } = await openTwice(t);
  await changeTable(ours.database, 'b');
  await ours.database.write(async () => undefined);
  assert.deepEqual([await ours.definitions.refresh(ours.database), ours.reads()], [false, 0]);
  assert.deepEqual([await theirs.definitions.refresh(theirs.database), theirs.reads()], [true, 1]);
});

test('a read of a dropped table fails as outdated after the definitions were read again', async (t) => {
  const { ours, theirs } = await openTwice(t);
  assert.deepEqual(await ours.database.tuples(sql`SELECT a FROM t`), []);
  await changeTable(theirs.database, 'b');
  await assert.rejects(ours.database.tuples(sql`SELECT a FROM t`), OutdatedDefinitions);
  assert.equal(ours.reads(), 1);
  // Nobody has changed anything since: it is a mistake of ours.
  await assert.rejects(ours.database.tuples(sql`SELECT a FROM t`), /no such column/);
  await assert.rejects(ours.database.get(sql`SELECT 1 FROM absent`), /no such table/);
});

test('so does a search', async (t) => {
  const { ours, theirs } = await openTwice(t);
  const search = (): Promise<unknown> => ours.database.search(sql`SELECT a FROM t`);
  assert.deepEqual(await search(), []);
  await changeTable(theirs.database, 'b');
  await assert.rejects(search(), OutdatedDefinitions);
  assert.equal(ours.reads(), 1);
  await assert.rejects(search(), /no such column/);
});

test('so does a search that has waited for a thread while this process changed definitions', async (t) => {
  const readers = new ReaderPool({ threads: 1 });
  const { ours } = await openTwice(t, readers);
  await ours.database.write((tx) => tx.run(sql`INSERT INTO t VALUES ('x')`));
  const slowly = (columns: Sql): Promise<unknown> =>
    ours.database.search(sql`
      WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 300000 AND "$in_time"(n))
      SELECT ${columns} FROM t WHERE (SELECT count(*) FROM n) > 0`);
  // From now on, searches of these texts begin in the thread.
  for (const columns of [sql`count(*)`, sql`a`]) await slowly(columns);
  const ahead = slowly(sql`count(*)`);
  const behind = slowly(sql`a`);
  const changed = changeTable(ours.database, 'b');
  await Promise.all([ahead, changed, assert.rejects(behind, OutdatedDefinitions)]);
  await assert.rejects(slowly(sql`a`), /no such column/);
  assert.equal(ours.reads(), 0, 'what this process has changed is not read again');
});

test('reads and changes of one turn come to an end while another process changes definitions', async (t) => {
  const { ours, theirs } = await openTwice(t);
  for (const column of ['b', 'c', 'd']) {
    // Begins a view that is older than the change, in the same turn as the write.
    const reading = ours.database.tuples(sql`SELECT 1 FROM t`);
    await changeTable(theirs.database, column);
    await Promise.all([reading, ours.database.write((tx) => tx.run(sql`INSERT INTO t VALUES ('x')`))]);
  }
  assert.equal(ours.reads(), 3);
});

interface Handle {
  readonly database: Database;
  readonly definitions: SqliteDefinitions;
  /** How often its memory was read again. */
  readonly reads: () => number;
}

/** As two processes would have it. */
async function openTwice(
  t: TestContext,
  readers?: ReaderPool,
): Promise<{ readonly ours: Handle; readonly theirs: Handle }> {
  const path = join(temporaryFolder(t), 'data.db');
  const open = async (): Promise<Handle> => {
    let reads = 0;
    const definitions = new SqliteDefinitions({ read: async () => () => void (reads += 1) });
    // A busy machine must not end what is slow on purpose.
    const queryTimeoutMs = 60_000;
    const database = openSqlite({ path, definitions, queryTimeoutMs, ...(readers && { readers }) });
    t.after(() => database.stop());
    await migrate(database, instanceMigrations);
    definitions.start();
    return { database, definitions, reads: () => reads };
  };
  t.after(() => readers?.stop());
  const ours = await open();
  await ours.database.write((tx) => tx.run(sql`CREATE TABLE t (a TEXT)`));
  return { ours, theirs: await open() };
}

/** The one column of the table gets another name. */
async function changeTable(database: Database, name: string): Promise<void> {
  const [row] = await database.tuples(sql`SELECT name FROM pragma_table_info('t')`);
  const [from, to] = [row?.[0], name].map((column) => database.names.column(String(column)));
  assert.ok(from !== undefined && to !== undefined);
  await database.write((tx) => tx.run(sql`ALTER TABLE t RENAME COLUMN ${from} TO ${to}`), {
    isExclusive: true,
  });
}
