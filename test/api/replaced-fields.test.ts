// Both engines: columns are dropped, added and renamed by SQL.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CollectionStage } from '../support/collection-stage.ts';

test('a field does not take the place of another one of its name, unless that one gets another name', async (t) => {
  const stage = await CollectionStage.start(t);
  const fields = [
    { id: 'first', name: 'a', type: 'text' },
    { id: 'second', name: 'b', type: 'number' },
  ];
  await stage.create({ name: 'posts', fields });
  const before = await stage.view('posts');
  const { json: record } = await stage.add('posts', { a: 'x', b: 5 });
  for (const field of [
    { name: 'created', type: 'text' },
    { name: 'a', type: 'number' },
    { name: 'A', type: 'text' },
    { id: 'third', name: 'a', type: 'text' },
    { id: 'third', name: 'a', type: 'bool' },
  ]) {
    const refused = await stage.change('posts', { fields: [field] });
    assert.equal(refused.status, 400, JSON.stringify(field));
    assert.equal(refused.json.data.fields['1'].name.code, 'validation_field_replaced');
  }
  assert.deepEqual((await stage.view('posts')).json, before.json);
  assert.deepEqual((await stage.records('posts')).json.items, [record]);
  // Without an id it is the stored field of this name and type.
  const same = await stage.change('posts', { fields: [{ name: 'a', type: 'text', max: 9 }, fields[1]] });
  assert.equal(same.status, 200, same.text);
  assert.deepEqual((await stage.records('posts')).json.items, [record]);
  const exchanged = await stage.change('posts', {
    fields: [
      { ...fields[0], name: 'b' },
      { ...fields[1], name: 'a' },
    ],
  });
  assert.equal(exchanged.status, 200, exchanged.text);
  assert.deepEqual((await stage.records('posts')).json.items, [{ ...record, a: 5, b: 'x' }]);
});
