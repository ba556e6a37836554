// Both engines: each has its own types of columns.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService, type TestAnswer } from '../support/service.ts';

const values: Readonly<Record<string, unknown>> = {
  number: '1,5',
  date: '07.01.2024',
  bool: 'maybe',
  text: ['a'],
  email: { a: 1 },
  one: { id: 'a' },
};

test('a value that cannot be read is a 400 on its field in every kind of write, which changes nothing', async (t) => {
  const service = await startService(t);
  const ask = (method: string, path: string, body?: object): Promise<TestAnswer> =>
    service.request(`/api${path}`, { method, token: true, ...(body && { body }) });
  const records = '/collections/posts/records';
  const fields = Object.keys(values).map((name) =>
    name === 'one' ? { name, type: 'select', values: ['a'] } : { name, type: name },
  );
  assert.equal((await ask('POST', '/collections', { name: 'posts', createRule: '', fields })).status, 200);
  const good = { number: 1, date: '2024-01-07', bool: true, text: 'a', email: 'a@example.com', one: 'a' };
  const { json: made } = await ask('POST', records, good);

  const refusedFields = ({ status, json }: TestAnswer): unknown => [
    status,
    Object.keys(json.data).toSorted(),
  ];
  const all = Object.keys(values).toSorted();
  assert.deepEqual(refusedFields(await ask('POST', records, values)), [400, all]);
  assert.deepEqual(refusedFields(await ask('PATCH', `${records}/${made.id}`, values)), [400, all]);
  assert.deepEqual(refusedFields(await ask('PATCH', `${records}/${made.id}`, { 'number+': 'abc' })), [
    400,
    ['number'],
  ]);
  for (const method of ['POST', 'PUT']) {
    const batch = await ask('POST', '/batch', {
      requests: [{ method, url: `/api${records}`, body: values }],
    });
    const { response } = batch.json.data.requests['0'];
    assert.deepEqual([batch.status, Object.keys(response.data).toSorted()], [400, all]);
  }
  const entries = [
    ['number', '1,5'],
    ['date', 'tomorrow'],
    ['bool', 'on'],
    ['text', 'a'],
    ['text', 'b'],
  ] as const;
  const form = new FormData();
  for (const [name, value] of entries) form.append(name, value);
  for (const body of [form, new URLSearchParams(entries.map((entry) => [...entry]))]) {
    const answer = await fetch(`${service.url}/api${records}`, { method: 'POST', body });
    const text = await answer.text();
    assert.deepEqual(
      [answer.status, Object.keys(JSON.parse(text).data).toSorted()],
      [400, ['bool', 'date', 'number', 'text']],
    );
  }
  const { json } = await ask('GET', records);
  assert.deepEqual(json.items, [made], 'nothing was made or changed');
});

test('empty values stay empty, and null empties a field', async (t) => {
  const service = await startService(t);
  const ask = (method: string, path: string, body: object): Promise<TestAnswer> =>
    service.request(`/api/collections${path}`, { method, token: true, body });
  const names = ['number', 'date', 'bool', 'text', 'email', 'url', 'editor'];
  await ask('POST', '', { name: 'posts', fields: names.map((name) => ({ name, type: name })) });
  for (const empty of ['', null]) {
    const body = Object.fromEntries(names.map((name) => [name, empty]));
    const { status, json } = await ask('POST', '/posts/records', body);
    const shown = names.map((name): unknown => json[name]);
    assert.deepEqual([status, ...shown], [201, 0, '', false, '', '', '', '']);
  }
});
