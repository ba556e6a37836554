// Both engines: tables are changed by DDL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { updateCollection } from '../../src/definitions/change-collection.ts';
import { importCollections } from '../../src/definitions/import-collections.ts';
import { sql } from '../../src/sql/sql.ts';
import { CollectionStage } from '../support/collection-stage.ts';
import { countStatements } from '../support/count-statements.ts';

const letters = ['a', 'b', 'c'];

function texts(count: number): readonly object[] {
  return Array.from({ length: count }, (_, at) => ({ name: `f${at}`, type: 'text' }));
}

function selects(count: number, maxSelect: number): readonly object[] {
  return Array.from({ length: count }, (_, at) => ({
    id: `select${at}`,
    name: `s${at}`,
    type: 'select',
    values: letters,
    maxSelect,
  }));
}

function positionOf(stage: CollectionStage, name: string, id: string): Promise<number> {
  return stage.service.withInstance('default', async ({ database }) => {
    const { names } = database;
    const row = await database.get(
      sql`SELECT "$position" AS position FROM ${names.collectionTable(name)} WHERE id = ${id}`,
    );
    return Number(row?.['position']);
  });
}

test('the statements of an import follow from the number of its collections, however many fields they have', async (t) => {
  const stage = await CollectionStage.start(t);
  await stage.service.withInstance('default', async (instance) => {
    const count = async (prefix: string, collections: number, fields: number): Promise<number> => {
      const definitions = countStatements(instance);
      const named = Array.from({ length: collections }, (_, at) => `${prefix}_${at}`);
      await importCollections(definitions, {
        collections: named.map((name) => ({ name, fields: texts(fields) })),
      });
      // A pause after at most 200 parts, and a collection more; rules and fields are looked at several times.
      assert.ok(definitions.pauses >= Math.floor((collections * fields) / 300));
      return definitions.texts.length;
    };
    // The quota of collections is looked up once.
    const once = 1;
    const made = await count('few', 5, 1);
    assert.equal(await count('wide', 5, 60), made, 'collections are made with all their fields');
    assert.equal(await count('many', 10, 1), 2 * made - once);
    const changed = await count('few', 5, 60);
    assert.ok(changed > 0);
    assert.equal(await count('many', 10, 60), 2 * changed - once);
    assert.equal(await count('few', 5, 60), 0, 'nothing has changed');
  });
});

test('a table with records is altered by the same number of statements, however many fields change', async (t) => {
  const stage = await CollectionStage.start(t);
  const kept = { id: 'kept', name: 'kept', type: 'number' };
  const statements: number[] = [];
  for (const count of [1, 40]) {
    const name = `posts_${count}`;
    const last = `s${count - 1}`;
    const made = await stage.create({
      name,
      fields: [kept, ...selects(count, 1), ...texts(count)],
      indexes: [`CREATE INDEX on_${name} ON ${name} (kept, s0)`],
    });
    assert.equal(made.status, 200, made.text);
    await stage.add(name, { kept: 7, [last]: 'b', f0: 'lost' });
    await stage.add(name, { kept: 8 });
    await stage.service.withInstance('default', async (instance) => {
      const definitions = countStatements(instance);
      const added = texts(count).map((_, at) => ({ name: `other${at}`, type: 'text' }));
      await updateCollection(definitions, name, { fields: [kept, ...selects(count, 3), ...added] });
      statements.push(definitions.texts.length);
    });
    const { json } = await stage.records(name, `sort=kept&fields=kept,${last},other0`);
    assert.deepEqual(json.items, [
      { kept: 7, [last]: ['b'], other0: '' },
      { kept: 8, [last]: [], other0: '' },
    ]);
    const back = await stage.change(name, { fields: [kept, ...selects(count, 1)] });
    assert.equal(back.status, 200, back.text);
    assert.equal((await stage.records(name, `filter=kept=7%26%26${last}='b'`)).json.totalItems, 1);
  }
  const [one, forty] = statements;
  assert.equal(forty, one);
});

test('a position is never given twice, whether a changed table was empty or had records', async (t) => {
  const stage = await CollectionStage.start(t);
  const field = (name: string): object => ({ id: name, name, type: 'text' });
  await stage.create({ name: 'posts', fields: [field('a')] });
  const add = async (): Promise<{ readonly id: string; readonly position: number }> => {
    const { id } = (await stage.add('posts', {})).json;
    return { id, position: await positionOf(stage, 'posts', id) };
  };
  await add();
  const second = await add();
  const changes = [
    { fields: [field('b')] },
    { fields: [field('b'), ...texts(10)] },
    { name: 'articles', fields: [field('c')] },
    { name: 'posts', fields: [field('c'), field('d')] },
  ];
  let last = second;
  // First with one record left, and then with none.
  for (const isEmpty of [false, true])
    for (const change of changes) {
      const { json } = await stage.records('posts', `sort=-@rowid&perPage=${isEmpty ? 500 : 1}`);
      const gone: readonly { readonly id: string }[] = json.items;
      for (const { id } of gone) assert.equal((await stage.remove(`posts/records/${id}`)).status, 204);
      const changed = await stage.change('posts', change);
      assert.equal(changed.status, 200, changed.text);
      if (changed.json.name !== 'posts')
        assert.equal((await stage.change(changed.json.id, { name: 'posts' })).status, 200);
      const next = await add();
      assert.ok(next.position > last.position, `${next.position} after ${last.position}`);
      last = next;
    }
});
