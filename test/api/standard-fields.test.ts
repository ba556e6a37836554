// Both engines: definitions change tables.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startService, type TestAnswer } from '../support/service.ts';

interface Field {
  readonly id: string;
  readonly name: string;
}

type Ask = (method: string, path: string, body?: object) => Promise<TestAnswer>;

async function start(t: TestContext): Promise<Ask> {
  const service = await startService(t);
  return (method, path, body) =>
    service.request(`/api/collections${path}`, { method, token: true, ...(body && { body }) });
}

function fieldsOf({ json }: TestAnswer): readonly Field[] {
  return json.fields;
}

function namesOf(answer: TestAnswer): readonly string[] {
  return fieldsOf(answer).map(({ name }) => name);
}

test('A5 a renamed created or updated keeps its data, and another takes its place', async (t) => {
  const ask = await start(t);
  const made = await ask('POST', '', { name: 'posts', fields: [{ name: 'a', type: 'text' }] });
  const { json: old } = await ask('POST', '/posts/records', { a: 'x' });
  const fields = fieldsOf(made).map((field) =>
    ['created', 'updated'].includes(field.name) ? { ...field, name: `was_${field.name}` } : field,
  );
  const changed = await ask('PATCH', '/posts', { fields });
  assert.equal(changed.status, 200, changed.text);
  assert.deepEqual(namesOf(changed), ['id', 'a', 'was_created', 'was_updated', 'created', 'updated']);
  assert.equal(new Set(fieldsOf(changed).map(({ id }) => id)).size, 6);
  const [kept] = (await ask('GET', '/posts/records')).json.items;
  assert.deepEqual([kept.was_created, kept.created], [old.created, '']);
  const { json: added } = await ask('POST', '/posts/records', { a: 'y' });
  assert.ok(added.created !== '' && added.created === added.was_created);
  for (const again of [fieldsOf(changed), fields])
    assert.deepEqual(fieldsOf(await ask('PATCH', '/posts', { fields: again })), fieldsOf(changed));
});

test('A5 a field that has the id of a standard one under another name does not stand for it', async (t) => {
  const ask = await start(t);
  const made = await ask('POST', '', {
    name: 'plain',
    fields: [
      { id: 'autodate2990389176', name: 'made', type: 'autodate', onCreate: true },
      { id: 'text3208210256', name: 'code', type: 'text' },
    ],
  });
  assert.deepEqual(namesOf(made), ['id', 'made', 'code', 'created', 'updated']);
  const { json } = await ask('POST', '/plain/records', { code: 'x' });
  assert.deepEqual([json.code, json.id.length, json.made], ['x', 15, json.created]);
});
