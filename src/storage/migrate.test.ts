import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startChild } from '../../test/support/child.ts';
import { fileOf, openSqliteFile } from '../../test/support/engines.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { sql } from '../sql/sql.ts';
import { migrate } from './migrate.ts';
import { openSqlite } from './sqlite/sqlite-database.ts';

test('a process that dies between two steps leaves none of them', async (t) => {
  const file = join(temporaryFolder(t), 'data.db');
  const child = await startChild(t, 'test/engines/die-migrating.ts', [file]);
  assert.equal(child.line, undefined);
  const database = openSqlite({ path: file });
  t.after(() => database.stop());
  const tables = await database.all(sql`SELECT name FROM sqlite_schema`);
  assert.deepEqual(tables, []);
  await migrate(database, [{ name: 'rows', statements: () => [sql`CREATE TABLE t (number INTEGER)`] }]);
  assert.deepEqual(await database.all(sql`SELECT number FROM t`), []);
});

test('a newer schema is refused with the files as they were, to the byte', async (t) => {
  const database = await openSqliteFile(t);
  const step = { name: 'a', statements: () => [] };
  await migrate(database, [step, step]);
  const file = fileOf(database);
  const before = [file, `${file}-wal`].map((path) => readFileSync(path));
  await assert.rejects(migrate(database, [step]), /newer version/);
  const after = [file, `${file}-wal`].map((path) => readFileSync(path));
  assert.deepEqual(after, before);
});
