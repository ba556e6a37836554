import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openPostgresDatabase } from '../../../test/support/postgres-database.ts';
import { ask } from '../../../test/support/postgres.ts';
import { literal, lookupByKey, sql } from '../../sql/sql.ts';
import type { Database } from '../database.ts';
import { OutdatedDefinitions } from '../engine-errors.ts';
import type { PostgresPool } from './postgres-pool.ts';

test('a write that changes of definitions overtake again and again is kept when they rest', async (t) => {
  const { database, change } = await openNode(t, { changesWhileRead: 8 });
  await change();
  let runs = 0;
  const work = database.write(async (tx) => {
    runs += 1;
    await tx.run(sql`INSERT INTO ${tx.names.collectionTable('note')} (id) VALUES ('a')`);
  });
  await work;
  assert.equal(runs, 10);
  assert.equal((await database.all(sql`SELECT * FROM ${database.names.collectionTable('note')}`)).length, 1);
});

test('a write is kept that asks more of a changed table, each prepared before, than a collision is tried again', async (t) => {
  const { database } = await openNode(t);
  const note = database.names.collectionTable('note');
  const questions = [1, 2, 3, 4, 5, 6].map((one) => sql`SELECT *, ${literal(one)} AS one FROM ${note}`);
  const work = (): Promise<number> =>
    database.write(async (tx) => {
      for (const question of questions) await tx.all(question);
      return questions.length;
    });
  // Nothing is prepared that is asked for once.
  for (let times = 0; times < 3; times += 1) await work();
  const alter = sql`ALTER TABLE ${note} ADD COLUMN more text`;
  await database.write((tx) => tx.run(alter), { isExclusive: true });
  assert.equal(await work(), 6);
});

test('a work without statements is run again when it was rejected by outdated definitions', async (t) => {
  const { database, change, versionInMemory } = await openNode(t);
  const before = versionInMemory();
  await change();
  const refused = database.write(async () => {
    if (versionInMemory() === before) throw new Error('refused by what was');
    return 'made';
  });
  assert.equal(await refused, 'made');
});

test('a read of a table whose columns have exchanged their names says that they may have', async (t) => {
  const { database, url, change } = await openNode(t);
  const note = database.names.collectionTable('note');
  const lookup = lookupByKey(sql`SELECT text FROM ${note} WHERE id = ${'a'}`);
  const reads = [
    () => database.search(sql`SELECT text FROM ${note}`),
    () => database.tuples(lookup),
    () => database.tuples(sql`SELECT text FROM ${note}`),
    // What has failed may have failed by that.
    () => database.search(sql`SELECT text::integer FROM ${note}`),
  ];
  await ask(url, `INSERT INTO i_test.note (id, text) VALUES ('a', 'text')`);
  assert.deepEqual(await reads[0]?.(), [['text']]);
  for (const read of reads) {
    await change();
    await assert.rejects(read(), OutdatedDefinitions);
  }
  // All is read again by then.
  assert.deepEqual(await reads[1]?.(), [['text']]);
});

test('a question that waits for a connection while definitions are read again does not pass for one by these', async (t) => {
  const { database, pool, change, refresh } = await openNode(t, { max: 1 });
  const note = database.names.collectionTable('note');
  const waiting = await pool.lend(async () => {
    const asked = database.tuples(sql`SELECT text FROM ${note}`);
    await change();
    await refresh();
    return { asked };
  });
  await assert.rejects(waiting.asked, OutdatedDefinitions);
});

interface Node {
  readonly database: Database;
  readonly pool: PostgresPool;
  readonly url: string;
  readonly versionInMemory: () => number;
  /** As another process says that it has changed definitions. */
  readonly change: () => Promise<unknown>;
  /** As it reads definitions again. */
  readonly refresh: () => Promise<void>;
}

/** With a table of a collection; while it reads definitions again others change so many times. */
async function openNode(t: TestContext, { changesWhileRead = 0, max = 8 } = {}): Promise<Node> {
  const { url, pool, open } = await openPostgresDatabase(t, { max });
  await ask(
    url,
    `CREATE TABLE i_test.note (id text, text text);
     CREATE TABLE chancery.instance (version integer); INSERT INTO chancery.instance VALUES (1)`,
  );
  const change = (): Promise<unknown> => ask(url, 'UPDATE chancery.instance SET version = version + 1');
  let [known, left] = [1, changesWhileRead];
  const refresh = async (): Promise<void> => {
    known = Number((await ask(url, 'SELECT version FROM chancery.instance'))[0]?.['version']);
    if (left === 0) return;
    left -= 1;
    await change();
  };
  const definitions = {
    version: sql`SELECT version FROM chancery.instance`,
    versionInMemory: () => known,
    refresh,
  };
  return { database: open({ definitions }), pool, url, versionInMemory: () => known, change, refresh };
}
