// Both engines: files are noted in the transaction that removes them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { FileStage, type FormPart, settledMsMax } from '../support/file-stage.ts';

const records = '/api/collections/docs/records';

const parts: readonly FormPart[] = [
  ['photo', 'a', 'a.txt'],
  ['papers', 'b', 'b.txt'],
  ['papers', 'c', 'c.txt'],
];

test('the files of a record go with it, and no others', async (t) => {
  const stage = await FileStage.start(t);
  const { json: gone } = await stage.create(parts);
  await stage.create(parts);
  assert.equal((await stage.service.request(`${records}/${gone.id}`, { method: 'DELETE' })).status, 204);
  await stage.settled();
  assert.equal((await stage.stored()).length, 3);
});

test('the files of records that are deleted with another go with them', async (t) => {
  const stage = await FileStage.start(t);
  const { service } = stage;
  const { json: target } = await stage.collection('targets', { fields: [{ name: 'title', type: 'text' }] });
  const relation = { name: 'of', type: 'relation', collectionId: target.id, cascadeDelete: true };
  const { json: docs } = await service.request('/api/collections/docs', { token: true });
  const body = { fields: [...docs.fields, relation] };
  assert.equal(
    (await service.request('/api/collections/docs', { method: 'PATCH', token: true, body })).status,
    200,
  );
  const made = await service.request('/api/collections/targets/records', { method: 'POST', body: {} });
  await stage.create([...parts, ['of', made.json.id]]);
  await stage.create(parts);
  const path = `/api/collections/targets/records/${made.json.id}`;
  assert.equal((await service.request(path, { method: 'DELETE' })).status, 204);
  await stage.settled();
  assert.equal((await stage.stored()).length, 3);
});

test('a truncated collection keeps no files', async (t) => {
  const stage = await FileStage.start(t);
  for (let count = 0; count < 3; count += 1) await stage.create(parts);
  const path = '/api/collections/docs/truncate';
  assert.equal((await stage.service.request(path, { method: 'DELETE', token: true })).status, 204);
  await stage.settled();
  assert.deepEqual(await stage.stored(), []);
});

test('the files of a field go with it, and all but the last where it keeps one file from now on', async (t) => {
  const stage = await FileStage.start(t);
  const { service } = stage;
  const { json: made } = await stage.create(parts);
  await stage.create([['title', 'without files']]);
  const { json: docs } = await service.request('/api/collections/docs', { token: true });
  const change = async (fields: readonly object[]): Promise<void> => {
    const body = { fields };
    const { status, text } = await service.request('/api/collections/docs', {
      method: 'PATCH',
      token: true,
      body,
    });
    assert.equal(status, 200, text);
  };
  const fields: readonly { readonly name: string }[] = docs.fields;
  const named = (name: string): object => fields.find((field) => field.name === name) ?? {};
  const title = [named('id'), named('title')];
  await change([...title, named('photo'), { ...named('papers'), maxSelect: 1 }]);
  const reduced = await service.request(`${records}/${made.id}`);
  assert.equal(reduced.json.papers, made.papers[1]);
  const left = async (count: number): Promise<void> => {
    await eventually(
      'the others are removed',
      async () => {
        assert.deepEqual(await stage.noted(), []);
        return (await stage.stored()).length === count;
      },
      settledMsMax,
    );
  };
  await left(2);
  await change([...title, named('photo'), { ...named('papers'), maxSelect: 5, name: 'sheets' }]);
  const widened = await service.request(`${records}/${made.id}`);
  assert.deepEqual(widened.json.sheets, [made.papers[1]]);
  await left(2);
  await change([...title, { ...named('papers'), maxSelect: 5, name: 'sheets' }]);
  await left(1);
  await change(title);
  await left(0);
});

test('the files of a collection go with it, and those of one that is made again under its name stay', async (t) => {
  const stage = await FileStage.start(t);
  const { service } = stage;
  const { json: before } = await service.request('/api/collections/docs', { token: true });
  await stage.create(parts);
  const path = '/api/collections/docs';
  assert.equal((await service.request(path, { method: 'DELETE', token: true })).status, 204);
  await stage.collection('docs', {});
  const { json: again } = await service.request('/api/collections/docs', { token: true });
  assert.equal(again.id, before.id);
  await stage.create(parts);
  await stage.settled();
  assert.equal((await stage.stored()).length, 3);
  const definitions = { collections: [{ name: 'other' }], deleteMissing: true };
  const imported = await service.request('/api/collections/import', {
    method: 'PUT',
    token: true,
    body: definitions,
  });
  assert.equal(imported.status, 204, imported.text);
  await eventually('no file is left', async () => (await stage.stored()).length === 0, settledMsMax);
});

test('files that a change of a definition would have lost stay when it is refused', async (t) => {
  const stage = await FileStage.start(t);
  const { service } = stage;
  await stage.create([...parts, ['title', 'same']]);
  await stage.create([...parts, ['title', 'same']]);
  const { json: docs } = await service.request('/api/collections/docs', { token: true });
  const fields: readonly { readonly type: string }[] = docs.fields;
  const body = {
    fields: fields.filter(({ type }) => type !== 'file'),
    indexes: ['CREATE UNIQUE INDEX docs_title ON docs (title)'],
  };
  const refused = await service.request('/api/collections/docs', { method: 'PATCH', token: true, body });
  assert.equal(refused.status, 400);
  await stage.settled();
  assert.equal((await stage.stored()).length, 6);
});
