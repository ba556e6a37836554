// Both engines: what records refuse shows in a transaction, which is rolled back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeKey } from '../support/make-key.ts';
import { startService, type TestAnswer } from '../support/service.ts';

test('a plan that checks the records refuses what they refuse, and changes nothing', async (t) => {
  const service = await startService(t);
  const path = '/api/collections';
  const ask = async (status: number, line: string, body?: object): Promise<TestAnswer> => {
    const [method = '', to = ''] = line.split(' ');
    const answer = await service.request(`${path}${to}`, { method, token: true, ...(body && { body }) });
    assert.equal(answer.status, status, `${line}: ${answer.text}`);
    return answer;
  };
  const text = (name: string): object => ({ name, type: 'text' });
  const { json: posts } = await ask(200, 'POST ', { name: 'posts', fields: [text('title'), text('body')] });
  await ask(200, 'POST ', { name: 'tags' });
  for (const body of ['x', 'y']) await ask(201, 'POST /posts/records', { title: 'One', body });
  const stored = async (): Promise<unknown> => {
    const audit = await service.request('/api/audit', { token: true });
    return [(await ask(200, 'GET ')).json, (await ask(200, 'GET /posts/records')).json, audit.json];
  };
  const before = await stored();
  const articles = { id: posts.id, name: 'articles', fields: [text('title')] };
  const indexes = ['CREATE UNIQUE INDEX by_title ON articles (title)'];
  const refused = { collections: [{ ...articles, indexes }, { name: 'notes' }], deleteMissing: true };
  const allowed = { collections: [articles, { name: 'notes' }], deleteMissing: true };
  const plan = '/import/plan?checkRecords=';
  await ask(200, `POST ${plan}`, refused);
  const refusal = await ask(400, `POST ${plan}true`, refused);
  assert.deepEqual(await stored(), before);
  const [checked, unchecked] = [
    await ask(200, `POST ${plan}true`, allowed),
    await ask(200, `POST ${plan}false`, allowed),
  ];
  const [change, ...others] = checked.json.changed;
  assert.deepEqual(others, []);
  assert.deepEqual(change.after.fields, unchecked.json.changed[0].after.fields);
  assert.deepEqual(checked.json.deleted, unchecked.json.deleted);
  assert.deepEqual(await stored(), before);

  assert.deepEqual(Object.keys((await ask(400, `POST ${plan}yes`, allowed)).json.data), ['checkRecords']);
  const { key: token } = await makeKey(service, ['collections:read']);
  for (const [query, status] of [
    ['', 200],
    ['?checkRecords=1', 403],
  ] as const) {
    const answer = await service.request(`${path}/import/plan${query}`, {
      method: 'POST',
      token,
      body: allowed,
    });
    assert.equal(answer.status, status, answer.text);
  }
  assert.deepEqual(refusal.json, (await ask(400, 'PUT /import', refused)).json);
  await ask(204, 'PUT /import', allowed);
});
