// Both engines: definitions change tables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { CollectionStage } from '../support/collection-stage.ts';
import type { TestAnswer } from '../support/service.ts';

/** What makes a file so large that a thread alters its tables. */
const rows = 1_500;
const text = 'x'.repeat(2_000);

async function startLarge(t: Parameters<typeof CollectionStage.start>[0]): Promise<CollectionStage> {
  const stage = await CollectionStage.start(t);
  const fields = [
    { id: 'text', name: 'text', type: 'text' },
    { id: 'number', name: 'number', type: 'number' },
    ...['s0', 's1', 's2', 's3', 's4'].map(select),
  ];
  assert.equal((await stage.create({ name: 'posts', fields })).status, 200);
  assert.equal((await stage.create({ name: 'other', fields: [{ name: 'text', type: 'text' }] })).status, 200);
  await stage.service.withInstance('default', async ({ database }) => {
    const table = database.names.collectionTable('posts');
    await database.write((tx) =>
      tx.run(sql`
        WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${rows})
        INSERT INTO ${table} (id, "$revision", text, number, s0) SELECT 'post' || n, 1, ${text}, n, 'a' FROM n`),
    );
  });
  return stage;
}

function select(name: string): object {
  return { id: name, name, type: 'select', values: ['a', 'b'], maxSelect: 1 };
}

/** Makes a change; meanwhile reads and writes, here and in health, are answered. */
async function changeBeside(stage: CollectionStage, body: object): Promise<TestAnswer> {
  const changing = stage.change('posts', body);
  const beside = [
    stage.service.request('/api/health/live'),
    stage.records('other'),
    stage.records('posts', 'perPage=1&fields=id'),
    stage.add('other', { text: 'beside' }),
    stage.add('other', { text: 'beside' }),
  ];
  for (const { status, text: answer } of await Promise.all(beside)) assert.ok(status < 300, answer);
  return await changing;
}

test('changes of a large table are whole: an index, several fields at once, names and what is refused', async (t) => {
  const stage = await startLarge(t);
  const { json: before } = await stage.view('posts');
  const fields: readonly { readonly name: string }[] = before.fields;
  const unique = 'CREATE UNIQUE INDEX one ON posts (s0)';
  const refused = await changeBeside(stage, { listRule: '', indexes: [unique] });
  assert.equal(refused.status, 400);
  assert.equal(refused.json.data.indexes['0'].code, 'validation_invalid_index_expression');
  assert.deepEqual((await stage.view('posts')).json, before);
  const made = await changeBeside(stage, { indexes: ['CREATE UNIQUE INDEX one ON posts (number)'] });
  assert.equal(made.status, 200, made.text);
  assert.equal((await stage.add('posts', { number: 7 })).json.data.number.code, 'validation_not_unique');
  const several = fields
    .filter(({ name }) => name !== 'text')
    .map((field) => (field.name.startsWith('s') ? { ...field, maxSelect: 2 } : field));
  const changed = await changeBeside(stage, { fields: [...several, { name: 'added', type: 'text' }] });
  assert.equal(changed.status, 200, changed.text);
  const { json } = await stage.records('posts', 'filter=number=7&fields=s0,s1,added,number');
  assert.deepEqual(json.items, [{ s0: ['a'], s1: [], added: '', number: 7 }]);
  assert.equal((await stage.add('posts', { number: 8 })).json.data.number.code, 'validation_not_unique');
  assert.equal((await changeBeside(stage, { name: 'renamed' })).status, 200);
  assert.equal((await stage.records('renamed', 'perPage=1')).json.totalItems, rows);
  assert.equal((await stage.remove('renamed')).status, 204);
  assert.ok((await stage.records('other')).json.totalItems >= 8);
});

test('an import of many collections into a large instance is done, or refused, as a whole', async (t) => {
  const stage = await startLarge(t);
  const send = (collections: readonly object[]): Promise<TestAnswer> =>
    stage.service.request('/api/collections/import', { method: 'PUT', token: true, body: { collections } });
  const made = Array.from({ length: 20 }, (_, at) => ({
    name: `made_${at}`,
    fields: Array.from({ length: 30 }, (_, field) => ({ name: `f${field}`, type: 'text' })),
  }));
  const twice = { name: 'posts', indexes: ['CREATE UNIQUE INDEX one ON posts (s0)'] };
  const [refused, live, added] = await Promise.all([
    send([...made, twice]),
    stage.service.request('/api/health/live'),
    stage.add('other', { text: 'beside' }),
  ]);
  assert.deepEqual([refused.status, live.status, added.status], [400, 200, 201]);
  assert.equal((await stage.view('made_0')).status, 404);
  assert.equal((await send(made)).status, 204);
  assert.equal((await stage.add('made_19', { f29: 'x' })).json.f29, 'x');
});
