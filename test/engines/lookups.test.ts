import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { lookupByKey, sql, withValues, type Sql } from '../../src/sql/sql.ts';
import type { Database } from '../../src/storage/database.ts';
import { describeEngines, type OpenDatabase } from '../support/engines.ts';

const odd = [
  '',
  ' ',
  'NULL',
  '{}',
  '{"a","b"}',
  'a,b',
  '"',
  '\\',
  '\\"',
  "'",
  '?',
  '$1',
  'é',
  '😀',
  'A',
  'a',
];

async function openNotes(t: TestContext, open: OpenDatabase): Promise<Database> {
  const database = await open(t);
  const table = database.names.collectionTable('note');
  const collation = database.engine === 'postgres' ? sql`COLLATE "C"` : sql``;
  await database.write(
    (tx) => tx.run(sql`CREATE TABLE ${table} (id TEXT ${collation} UNIQUE, text TEXT ${collation})`),
    { isExclusive: true },
  );
  await database.write(async (tx) => {
    for (const id of odd)
      await tx.run(sql`INSERT INTO ${table} (id, text) VALUES (${id}, ${`text of ${id}`})`);
  });
  return database;
}

function lookupIn(database: Database): Sql {
  const table = database.names.collectionTable('note');
  return lookupByKey(sql`SELECT text, NULL, '?', id FROM ${table} WHERE id = ${''}`);
}

describeEngines('lookups at the same time', (open) => {
  test('each get their own row or none, whatever the keys are, as one by one', async (t) => {
    const database = await openNotes(t, open);
    const lookup = lookupIn(database);
    const keys = [...odd, 'missing', 'a', ...odd.toReversed(), 'b', 'a'];
    const expected = keys.map((key) => (odd.includes(key) ? [[`text of ${key}`, null, '?', key]] : []));
    const find = (key: string): Promise<unknown> => database.tuples(withValues(lookup, [key]));
    assert.deepEqual(await Promise.all(keys.map(find)), expected);
    for (const [index, key] of keys.entries()) assert.deepEqual(await find(key), expected[index]);
  });

  test('of other rows by other values are not taken for the same', async (t) => {
    const database = await openNotes(t, open);
    const table = database.names.collectionTable('note');
    const find = async (word: string, id: string): Promise<unknown> =>
      (await database.tuples(lookupByKey(sql`SELECT ${word}, text FROM ${table} WHERE id = ${id}`)))[0];
    const asked = ['a', 'b', 'a', 'missing'].flatMap((id) => [
      find('x', id),
      find('y', id),
      find('x","', id),
    ]);
    const row = (word: string): readonly string[] => [word, 'text of a'];
    const found = [row('x'), row('y'), row('x","')];
    const none = [undefined, undefined, undefined];
    assert.deepEqual(await Promise.all(asked), [...found, ...none, ...found, ...none]);
  });

  test('see what was written before they were asked for', async (t) => {
    const database = await openNotes(t, open);
    const table = database.names.collectionTable('note');
    const lookup = lookupIn(database);
    const others: Promise<unknown>[] = [];
    for (let n = 0; n < 50; n += 1) {
      others.push(database.tuples(withValues(lookup, ['a'])));
      await database.write((tx) => tx.run(sql`UPDATE ${table} SET text = ${`${n}`} WHERE id = 'a'`));
      assert.deepEqual(await database.tuples(withValues(lookup, ['a'])), [[`${n}`, null, '?', 'a']]);
    }
    await Promise.all(others);
  });

  test('and the same searches see what was written before they were asked for', async (t) => {
    const database = await openNotes(t, open);
    const table = database.names.collectionTable('note');
    const others: Promise<unknown>[] = [];
    const search = (): Promise<unknown> => database.search(sql`SELECT text FROM ${table} WHERE id = ${'a'}`);
    for (let n = 0; n < 50; n += 1) {
      others.push(search());
      await database.write((tx) => tx.run(sql`UPDATE ${table} SET text = ${`${n}`} WHERE id = 'a'`));
      assert.deepEqual(await Promise.all([search(), search()]), [[[`${n}`]], [[`${n}`]]]);
    }
    await Promise.all(others);
  });

  test('all fail when they cannot be asked, and the next ones are answered', async (t) => {
    const database = await openNotes(t, open);
    const missing = lookupByKey(sql`SELECT id FROM "nowhere" WHERE id = ${'a'}`);
    const results = await Promise.allSettled([database.tuples(missing), database.tuples(missing)]);
    assert.ok(results.every(({ status }) => status === 'rejected'));
    assert.equal((await database.tuples(withValues(lookupIn(database), ['a']))).length, 1);
  });

  test('are answered before a stop', async (t) => {
    const database = await openNotes(t, open);
    const lookup = lookupIn(database);
    const asked = Array.from({ length: 300 }, () => database.tuples(withValues(lookup, ['a'])));
    await database.stop();
    for (const rows of await Promise.all(asked)) assert.equal(rows.length, 1);
  });
});
