import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { explain } from '../../../test/plans/explain.ts';
import { fileOf, openSqliteFile } from '../../../test/support/engines.ts';
import { sql } from '../../sql/sql.ts';
import type { Database } from '../database.ts';
import { openSqlite } from './sqlite-database.ts';

test('a table that was small when its file was closed is searched by its index when it has grown', async (t) => {
  const small = await openSqliteFile(t);
  await small.write(async (tx) => {
    await tx.run(sql`CREATE TABLE post (author TEXT NOT NULL)`);
    await tx.run(sql`CREATE INDEX by_author ON post (author)`);
  });
  await addPosts(small, 1);
  await small.stop();
  const grown = reopen(t, small);
  await addPosts(grown, 20_000);
  const posts = sql`SELECT * FROM post WHERE author = ${'writer 7'}`;
  assert.match((await explain(grown, posts)).join(), /^SEARCH post USING COVERING INDEX by_author /);
});

function reopen(t: TestContext, closed: Database): Database {
  const database = openSqlite({ path: fileOf(closed) });
  t.after(() => database.stop());
  return database;
}

async function addPosts(database: Database, count: number): Promise<void> {
  await database.write((tx) =>
    tx.run(sql`
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
      INSERT INTO post SELECT 'writer ' || i FROM n`),
  );
}
