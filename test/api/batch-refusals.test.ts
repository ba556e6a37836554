// Both engines: upserts find out in SQL what is there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { refusalOf, sendBatch, startBatchService } from '../support/send-batch.ts';
import type { TestService } from '../support/service.ts';

const at = '/api/collections/posts/records';
const alias = '/api/records/posts';
const id = (letter: string): string => letter.repeat(15);

function countEvents(service: TestService): Promise<number> {
  return service.withInstance('default', async ({ database }) => {
    const rows = await database.tuples(sql`SELECT 1 FROM ${database.names.table('$event')}`);
    return rows.length;
  });
}

test('section 15: what is no batch is refused in the documented shape', async (t) => {
  const service = await startBatchService(t);
  const required = { requests: { code: 'validation_required', message: 'Cannot be blank.' } };
  for (const body of [{}, { requests: [] }, { requests: null }]) {
    const answer = await service.request('/api/batch', { method: 'POST', body });
    assert.deepEqual(answer.json, { data: required, message: 'Invalid batch request data.', status: 400 });
  }
  const item = { method: 'POST', url: at };
  for (const count of [51, 10_000]) {
    const { json } = await sendBatch(
      service,
      Array.from({ length: count }, () => item),
    );
    assert.equal(json.message, 'Invalid batch request data.');
    assert.equal(json.data.requests.code, 'validation_length_too_long');
    assert.equal(json.data.requests.message, 'The length must be no more than 50.');
  }
  const unreadable = [
    'x',
    { 0: item },
    ['x'],
    [null],
    [[]],
    [{ method: 1, url: at }],
    [{ method: 'POST', url: [at] }],
    [{ ...item, headers: 'x' }],
    [{ ...item, headers: { a: 1 } }],
    [item, { ...item, headers: ['a'] }],
  ];
  for (const requests of unreadable) {
    const { json } = await sendBatch(service, requests);
    const expected = { data: {}, message: 'Failed to read the submitted batch data.', status: 400 };
    assert.deepEqual(json, expected, JSON.stringify(requests));
  }
  const blank = { code: 'validation_required', message: 'Cannot be blank.' };
  const unknown = { code: 'validation_in_invalid', message: 'Must be a valid value.' };
  for (const [requests, expected] of [
    [[{}], { 0: { method: blank, url: blank } }],
    [[item, { method: 'POST' }], { 1: { url: blank } }],
    [[{ url: at }, item, { ...item, method: 'post' }], { 0: { method: blank }, 2: { method: unknown } }],
    [[{ method: null, url: '' }], { 0: { method: blank, url: blank } }],
  ] as const) {
    const { status, json } = await sendBatch(service, requests);
    assert.deepEqual(
      [status, json.message, json.data],
      [400, 'Invalid batch request data.', { requests: expected }],
    );
  }
  assert.equal((await service.request('/api/batch', { method: 'POST', body: '[]' })).status, 400);
  assert.equal(
    (
      await sendBatch(
        service,
        Array.from({ length: 50 }, () => item),
      )
    ).status,
    200,
  );
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'])
    assert.equal((await service.request('/api/batch', { method })).status, 405, method);
  for (const path of [at, alias])
    assert.equal((await service.request(path, { method: 'PUT', body: {} })).status, 405);
});

test('B-01 B-03 an item that is no change of a record is refused: other hosts, instances, routes, methods, tricks', async (t) => {
  const service = await startBatchService(t);
  const refused: readonly (readonly [string, string, number])[] = [
    ['POST', '/api/batch', 400],
    ['POST', `http://127.0.0.1${at}`, 400],
    ['POST', `//127.0.0.1${at}`, 400],
    ['POST', `/i/default${at}`, 400],
    ['POST', '/api/collections', 400],
    ['DELETE', '/api/collections/posts', 400],
    ['POST', '/api/collections/_superusers/auth-with-password', 400],
    ['POST', '/api/webhooks/endpoints', 400],
    ['GET', at, 400],
    ['POST', `${at}/`, 400],
    ['POST', `${at}/${id('a')}`, 400],
    ['PUT', `${at}/${id('a')}`, 400],
    ['PATCH', at, 400],
    ['DELETE', at, 400],
    ['DELETE', `${at}/a/b`, 400],
    ['POST', `${at}#x`, 400],
    ['POST', ` ${at}`, 400],
    ['DELETE', `${at}/%00`, 400],
    ['DELETE', `${at}/%zz`, 400],
    ['DELETE', `${at}/%C0%AF`, 400],
    ['POST', '/api/collections/posts%2frecords/records', 404],
    ['DELETE', `${at}/..`, 404],
    ['DELETE', `${at}/%2e%2e%2f${id('a')}`, 404],
    ['DELETE', `${at}/${'a'.repeat(2_000)}`, 404],
    ['POST', '/api/collections/../records', 404],
    ['POST', '/api/collections/__proto__/records', 404],
  ];
  for (const [method, url, status] of refused) {
    const response = await refusalOf(service, { method, url, body: {} }, { token: true });
    assert.equal(response.status, status, `${method} ${url}`);
  }
  for (const [method, url] of [
    ['HEAD', at],
    ['post', at],
    ['', at],
    ['POST', ''],
  ])
    assert.equal((await sendBatch(service, [{ method, url, body: {} }], { token: true })).status, 400);
  assert.equal(await countEvents(service), 0);
});

test('B-08 who asks is decided by the batch, whatever its items say', async (t) => {
  const service = await startBatchService(t);
  const headers = { Authorization: service.superuser.token, 'Idempotency-Key': 'k' };
  const item = { method: 'POST', url: '/api/records/locked', headers, body: { title: 'a' } };
  assert.equal((await refusalOf(service, item)).status, 403);
  const asSuperuser = await sendBatch(service, [{ ...item, headers: { authorization: 'x' } }, item], {
    token: true,
  });
  assert.deepEqual([asSuperuser.status, asSuperuser.json[0].body.secret], [200, '']);
  const asGuest = await sendBatch(service, [{ method: 'POST', url: at }]);
  assert.equal('secret' in asGuest.json[0].body, false);
  // Nor is it what a rule reads.
  const definition = { name: 'named', createRule: "@request.headers.authorization = 'x'" };
  await service.request('/api/collections', { method: 'POST', token: true, body: definition });
  const named = { method: 'POST', url: '/api/records/named', headers: { Authorization: 'x' }, body: {} };
  assert.equal((await refusalOf(service, named)).status, 400);
});

test('an upsert tells nothing of a record that its caller may not change but what it tells of one that is not there', async (t) => {
  const service = await startBatchService(t);
  await service.request(at, { method: 'POST', body: { id: id('a'), title: 'hidden' } });
  const rule = 'title = "own"';
  const pairs = [rule, null].flatMap((create) => [rule, null].map((update) => [create, update] as const));
  for (const [createRule, updateRule] of pairs) {
    const body = { listRule: null, viewRule: null, createRule, updateRule };
    await service.request('/api/collections/posts', { method: 'PATCH', token: true, body });
    for (const headers of [{}, { 'If-Match': '*' }, { 'If-Match': '"1-x"' }]) {
      const [there, absent] = await Promise.all(
        [id('a'), id('z')].map((one) =>
          refusalOf(service, { method: 'PUT', url: at, headers, body: { id: one, title: 'x' } }),
        ),
      );
      const where = JSON.stringify([createRule, updateRule, headers]);
      assert.deepEqual(there, absent, where);
      assert.ok([400, 403, 412].includes(there.status), where);
    }
  }
});

test('who may make records and not change this one is told that its id is taken, as by a create', async (t) => {
  const service = await startBatchService(t);
  await service.request(at, { method: 'POST', body: { id: id('a'), title: 'hidden' } });
  for (const updateRule of ['title = "own"', null]) {
    const body = { updateRule };
    await service.request('/api/collections/posts', { method: 'PATCH', token: true, body });
    const item = { url: at, body: { id: id('a'), title: 'x' } };
    const refused = await refusalOf(service, { method: 'PUT', ...item });
    assert.deepEqual(refused, await refusalOf(service, { method: 'POST', ...item }));
    assert.equal(refused.data.id.code, 'validation_not_unique');
  }
  const kept = await service.request(`${at}/${id('a')}`);
  assert.equal(kept.json.title, 'hidden');
});
