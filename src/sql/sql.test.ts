import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeByKey, fillIn, identifier, insertInto, joinSql, ofTable, sql, withValues } from './sql.ts';

const [notes, words] = ['notes', 'words'].map((name) => ofTable(identifier(name), name));
assert.ok(notes && words);

test('a statement lists the tables that it names, whatever its parts', () => {
  assert.deepEqual(sql`SELECT ${1}`.tables, []);
  for (const table of [notes, words]) {
    // The same template with other parts.
    const select = sql`SELECT 1 FROM ${table} WHERE id = ${'a'}`;
    assert.deepEqual(select.tables, table.tables);
    assert.deepEqual(withValues(select, ['b']).tables, table.tables);
    assert.deepEqual(fillIn(select, [sql`key`]).tables, table.tables);
  }
  const both = sql`SELECT 1 FROM ${notes} WHERE id IN (SELECT id FROM ${words}) OR id IN (SELECT id FROM ${notes})`;
  assert.deepEqual(both.tables, ['notes', 'words']);
  assert.deepEqual(joinSql([sql`1`, both, sql`SELECT 1 FROM ${words}`], ' OR ').tables, ['notes', 'words']);
});

test('an insert and a change by key know their parts', () => {
  const insert = insertInto(notes, sql`id, text`, sql`${'a'}, upper(${'b'})`);
  assert.equal(insert.text, 'INSERT INTO "notes" (id, text) VALUES (?, upper(?))');
  assert.deepEqual([insert.values, insert.tables], [['a', 'b'], ['notes']]);
  assert.ok(insert.form?.kind === 'insert');
  assert.deepEqual(
    [insert.form.into.text, insert.form.row.text],
    ['INSERT INTO "notes" (id, text)', '?, upper(?)'],
  );
  const change = changeByKey(notes, [[sql`text`, sql`${null}::text`]], sql`id`);
  assert.equal(change.text, 'UPDATE "notes" SET text = ?::text WHERE id = ?');
  assert.deepEqual(change.tables, ['notes']);
  const given = withValues(change, ['b', 'a']);
  assert.deepEqual([given.values, given.form?.kind], [['b', 'a'], 'change']);
});
