import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSqliteFile } from '../../../test/support/engines.ts';
import { sql, type Sql } from '../../sql/sql.ts';
import { migrate } from '../migrate.ts';
import { instanceMigrations } from './instance-migrations.ts';

function insert(id: string): Sql {
  return sql`
    INSERT INTO "$event" (id, kind, collection, collection_name, record, revision, created, body)
    VALUES (${id}, 'record.create', 'c', 'posts', 'r', 1, '', ${new Uint8Array([1, 2])})`;
}

test('events keep their positions when their index goes, and new ones come after them', async (t) => {
  const database = await openSqliteFile(t);
  await migrate(database, instanceMigrations.slice(0, 6));
  await database.write(async (tx) => {
    for (const id of ['a', 'b', 'c']) await tx.run(insert(id));
    await tx.run(sql`DELETE FROM "$event" WHERE id = 'b'`);
  });
  await migrate(database, instanceMigrations);
  await database.write((tx) => tx.run(insert('d')));
  const rows = await database.tuples(sql`SELECT position, id, hex(body) FROM "$event" ORDER BY position`);
  assert.deepEqual(rows, [
    [1, 'a', '0102'],
    [3, 'c', '0102'],
    [4, 'd', '0102'],
  ]);
  const indexes = await database.all(
    sql`SELECT name FROM sqlite_schema WHERE tbl_name = '$event' AND type = 'index'`,
  );
  assert.deepEqual(
    indexes.map(({ name }) => name),
    ['$event_record'],
  );
});
