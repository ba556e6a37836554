import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import type { Database } from '../../src/storage/database.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite-database.ts';
import { StorageCounts } from '../../src/storage/storage-counts.ts';
import { atEnd } from '../support/at-end.ts';
import { openPostgresDatabase } from '../support/postgres-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const works = 20;

const engines = {
  sqlite: (t: TestContext, counts: StorageCounts): Promise<Database> => {
    const database = openSqlite({ path: join(temporaryFolder(t), 'data.db'), counts, groupMs: 1_000 });
    atEnd(t, () => database.stop());
    return Promise.resolve(database);
  },
  postgres: async (t: TestContext, counts: StorageCounts): Promise<Database> =>
    (await openPostgresDatabase(t)).open({ counts }),
};

for (const [engine, open] of Object.entries(engines))
  describe(`what is counted of a database (${engine})`, () => {
    test('is each commit with the works that it has kept, and each statement by what it is for', async (t) => {
      const counts = new StorageCounts([]);
      const { commitWrites, commitSeconds, sqlSeconds } = counts;
      const database = await open(t, counts);
      const table = engine === 'sqlite' ? sql`"note"` : sql`i_test.note`;
      await database.write((tx) => tx.run(sql`CREATE TABLE ${table} (id bigint)`), { isExclusive: true });
      assert.deepEqual([commitWrites.count, commitWrites.sum, commitSeconds.count], [1, 1, 1]);
      const inserts = Array.from({ length: works }, (_, id) =>
        database.write((tx) => tx.run(sql`INSERT INTO ${table} VALUES (${id})`), {
          isAppending: true,
        }),
      );
      const refused = database.write(() => Promise.reject(new Error('refused')), { isAppending: true });
      await Promise.all([...inserts, assert.rejects(refused)]);
      assert.equal(commitWrites.sum, 1 + works, 'a refused work is not counted');
      assert.ok(commitWrites.count < 1 + works, 'works share commits');
      assert.equal(commitSeconds.count, commitWrites.count);
      assert.equal(sqlSeconds.write.count, commitWrites.count);
      assert.ok(commitSeconds.sum > 0);
      const before = { read: sqlSeconds.read.count, search: sqlSeconds.search.count };
      await database.tuples(sql`SELECT id FROM ${table}`);
      await database.get(sql`SELECT id FROM ${table}`);
      await database.search(sql`SELECT id FROM ${table}`);
      assert.equal(sqlSeconds.read.count, before.read + 2);
      assert.equal(sqlSeconds.search.count, before.search + 1);
    });

    test('is no commit where nothing was written', async (t) => {
      const counts = new StorageCounts([]);
      const database = await open(t, counts);
      await assert.rejects(database.write(() => Promise.reject(new Error('refused'))));
      assert.equal(counts.commitWrites.count, 0);
    });
  });

test('a pool of PostgreSQL counts who uses a connection, and who waits for one and for how long', async (t) => {
  const { pool } = await openPostgresDatabase(t, { max: 1 });
  const { counts } = pool;
  const before = counts.waitSeconds.count;
  const lent = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const first = pool.lend(() => {
    lent.resolve();
    return held.promise;
  });
  await lent.promise;
  const second = pool.lend(() => Promise.resolve());
  assert.equal(counts.waiting(), 1);
  held.resolve();
  await Promise.all([first, second]);
  assert.equal(counts.waitSeconds.count, before + 2);
  assert.equal(counts.waiting(), 0);
  assert.equal(counts.inUse(), 0);
});
