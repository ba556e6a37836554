// Both engines: keys are rows of the transaction.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { createCollection } from '../../src/definitions/change-collection.ts';
import { idempotencyLimits } from '../../src/records/idempotency.ts';
import type { Instance } from '../../src/instances/instance.ts';
import { sql } from '../../src/sql/sql.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { RawConnection, rawRequest } from '../support/raw-http.ts';
import { startService, type TestAnswer, type TestRequest, type TestService } from '../support/service.ts';

const at = '/api/collections/posts/records';
const open = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
const refusal = '{"data":{},"message":"The idempotency key was used with another request.","status":422}';

async function setUp(t: TestContext, clock?: MovableClock): Promise<TestService> {
  const service = await startService(t, clock === undefined ? {} : { parts: { clock } });
  await service.withInstance('default', makeCollections);
  return service;
}

async function makeCollections({ database, collections, clock }: Instance): Promise<void> {
  const fields = [
    { name: 'title', type: 'text', max: 20 },
    { name: 'large', type: 'json', maxSize: 1_000_000 },
  ];
  const change = { database, collections, now: clock.now() };
  await createCollection(change, { name: 'posts', ...open, fields });
  await createCollection(change, { name: 'locked', fields });
}

/** As it is, sent under a key. */
function under(key: string, asked: TestRequest = {}): TestRequest {
  return { method: 'POST', ...asked, headers: { ...asked.headers, 'idempotency-key': key } };
}

function isReplayed(answer: TestAnswer): boolean {
  return answer.headers.get('idempotent-replayed') === 'true';
}

/** What was answered, but for what differs with every answer. */
function told(answer: TestAnswer): readonly unknown[] {
  return [answer.status, answer.text, answer.headers.get('etag'), answer.headers.get('content-type')];
}

function countOf(service: TestService, table: '$event' | '$idempotency'): Promise<number> {
  return service.withInstance('default', async ({ database }) => {
    const { names } = database;
    const row = await database.get(
      sql`SELECT count(*) AS rows FROM ${names.table(table)} WHERE ${names.instance.condition}`,
    );
    return Number(row?.['rows']);
  });
}

test('A7 H-26 the same key and request is done once and answered alike: create, update, delete', async (t) => {
  const service = await setUp(t);
  const steps: readonly (readonly [string, (id: string) => string, TestRequest])[] = [
    ['create', () => `${at}?fields=id,title`, { body: { title: 'a' } }],
    ['update', (id) => `${at}/${id}`, { method: 'PATCH', body: { title: 'b' } }],
    ['delete', (id) => `${at}/${id}`, { method: 'DELETE' }],
  ];
  let id = '';
  for (const [key, path, asked] of steps) {
    const first = await service.request(path(id), under(key, asked));
    const second = await service.request(path(id), under(key, asked));
    assert.ok(first.status < 300, first.text);
    assert.deepEqual([isReplayed(first), isReplayed(second)], [false, true], key);
    assert.deepEqual(told(second), told(first), key);
    id = first.json?.id ?? '';
  }
  assert.equal(await countOf(service, '$event'), 3);
});

test('A7 H-26 a client that goes away before it reads its answer is told it when it asks again, and all is done once', async (t) => {
  const service = await setUp(t);
  const connection = RawConnection.open(t, service.url);
  connection.socket.pause();
  connection.send(rawRequest(`POST ${at}`, { 'Idempotency-Key': 'k' }, '{"title":"a"}'));
  const count = async (): Promise<number> => (await service.request(at)).json.totalItems;
  await eventually('the record', async () => (await count()) === 1);
  connection.socket.resetAndDestroy();
  const again = await service.request(at, under('k', { body: { title: 'a' } }));
  assert.deepEqual([again.status, isReplayed(again)], [201, true]);
  assert.deepEqual([await count(), await countOf(service, '$event')], [1, 1]);
});

test('A7 another request under a key is refused with 422: another body, query or If-Match; and nothing is changed', async (t) => {
  const service = await setUp(t);
  const made = await service.request(at, under('k', { body: { title: 'a' } }));
  for (const [path, body] of [
    [at, { title: 'b' }],
    [at, { title: 'a', large: null }],
    [`${at}?fields=id`, { title: 'a' }],
    [at, undefined],
  ] as const) {
    const other = await service.request(path, under('k', { body }));
    assert.deepEqual([other.status, other.text], [422, refusal]);
  }
  const record = `${at}/${made.json.id}`;
  const update = { method: 'PATCH', body: { title: 'c' } };
  assert.equal(
    (await service.request(record, under('u', { ...update, headers: { 'if-match': '"1-x"' } }))).status,
    200,
  );
  for (const headers of [{ 'if-match': '"2-x"' }, {}])
    assert.equal((await service.request(record, under('u', { ...update, headers }))).status, 422);
  assert.equal(await countOf(service, '$event'), 2);
});

test('A7 a key belongs to its caller, its method and its path', async (t) => {
  const service = await setUp(t);
  const body = { title: 'a' };
  const asked: readonly (readonly [string, TestRequest])[] = [
    [at, { body }],
    ['/api/records/posts', { body }],
    [at, { body, token: true }],
  ];
  for (const [path, request] of asked) {
    const answer = await service.request(path, under('k', request));
    assert.deepEqual([answer.status, isReplayed(answer)], [201, false]);
  }
  const { json: made } = await service.request(at, { method: 'POST', body });
  const patched = await service.request(
    `${at}/${made.id}`,
    under('k', { method: 'PATCH', body: { title: 'b' } }),
  );
  const deleted = await service.request(`${at}/${made.id}`, under('k', { method: 'DELETE' }));
  assert.deepEqual([patched.status, deleted.status], [200, 204]);
  assert.deepEqual([isReplayed(patched), isReplayed(deleted)], [false, false]);
});

test('A7 T-08 a key of one instance means nothing in another', async (t) => {
  const service = await setUp(t);
  await service.app.data.directory.create('other', null);
  await service.withInstance('other', makeCollections);
  const first = await service.request(at, under('k', { body: { title: 'a' } }));
  const second = await service.request(`/i/other${at}`, under('k', { body: { title: 'b' } }));
  assert.deepEqual([first.status, second.status, isReplayed(second)], [201, 201, false]);
  assert.equal(second.json.title, 'b');
});

test('A7 of twins in flight one is done, and the others wait for its answer', async (t) => {
  const service = await setUp(t);
  const body = { id: 'a'.repeat(15), title: 'a' };
  const twins = await Promise.all(
    Array.from({ length: 12 }, () => service.request(at, under('k', { body }))),
  );
  assert.equal(twins.filter(isReplayed).length, 11);
  assert.equal(new Set(twins.map(({ status, text }) => `${status} ${text}`)).size, 1);
  assert.equal(twins[0]?.status, 201);
  assert.equal(await countOf(service, '$event'), 1);
});

test('A7 of different requests in flight under one key one is done, and the others are refused', async (t) => {
  const service = await setUp(t);
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) => service.request(at, under('k', { body: { title: `${index}` } }))),
  );
  assert.equal(answers.filter(({ status }) => status === 201).length, 1);
  assert.equal(answers.filter(({ status, text }) => status === 422 && text === refusal).length, 7);
  assert.equal(await countOf(service, '$event'), 1);
});

test('A7 what was refused is not kept: the same key may be sent again', async (t) => {
  const service = await setUp(t);
  const id = 'a'.repeat(15);
  const long = { title: 'x'.repeat(21) };
  for (let again = 0; again < 2; again += 1) {
    const refused = await service.request(at, under('k', { body: long }));
    assert.deepEqual([refused.status, isReplayed(refused)], [400, false]);
    const absent = await service.request(`${at}/${id}`, under('k', { method: 'DELETE' }));
    assert.deepEqual([absent.status, isReplayed(absent)], [404, false]);
  }
  assert.equal(await countOf(service, '$idempotency'), 0);
  assert.equal((await service.request(at, under('k', { body: { id } }))).status, 201);
  const stale = { method: 'PATCH', headers: { 'if-match': '"7-x"' }, body: { title: 'b' } };
  assert.equal((await service.request(`${at}/${id}`, under('k', stale))).status, 412);
  assert.equal((await service.request(`${at}/${id}`, under('k', { method: 'DELETE' }))).status, 204);
});

test('A7 whoever may not write is told so before a key is looked at', async (t) => {
  const service = await setUp(t);
  const locked = '/api/collections/locked/records';
  assert.equal((await service.request(locked, under('k', { token: true, body: {} }))).status, 201);
  assert.equal((await service.request(locked, under('k', { body: {} }))).status, 403);
  assert.equal((await service.request(locked, under('', { body: {} }))).status, 403);
  // What was answered is told again only to those who still may.
  const body = { createRule: null };
  await service.request(at, under('k', { body: {} }));
  await service.request('/api/collections/posts', { method: 'PATCH', token: true, body });
  assert.equal((await service.request(at, under('k', { body: {} }))).status, 403);
});

test('A7 a key is 1 to 255 printable ASCII characters', async (t) => {
  const service = await setUp(t);
  for (const bad of ['', 'ä', 'a\tb', 'x'.repeat(256)]) {
    const answer = await service.request(at, under(bad, { body: {} }));
    assert.deepEqual([answer.status, answer.json.data], [400, {}], JSON.stringify(bad));
  }
  for (const good of ['x', '~', 'a b', '"q"', 'x'.repeat(255)])
    assert.equal((await service.request(at, under(good, { body: {} }))).status, 201, good);
  assert.equal(await countOf(service, '$event'), 5);
});

test('A7 an answer above 256 KiB is kept as the ids of what it showed', async (t) => {
  const service = await setUp(t);
  const large = 'x'.repeat(idempotencyLimits.bodyBytesMax);
  const first = await service.request(at, under('k', { body: { large } }));
  const second = await service.request(at, under('k', { body: { large } }));
  assert.deepEqual([first.status, second.status, isReplayed(second)], [201, 201, true]);
  const { collectionId, collectionName, id } = first.json;
  assert.equal(second.text, JSON.stringify({ collectionId, collectionName, id }));
  assert.equal(second.headers.get('etag'), first.headers.get('etag'));
  const small = { large: 'x'.repeat(idempotencyLimits.bodyBytesMax - 1_000) };
  const kept = await service.request(at, under('small', { body: small }));
  assert.deepEqual(told(await service.request(at, under('small', { body: small }))), told(kept));
});

test('A7 an answer is kept for 24 hours, after which its key is free and later writes remove it, a few at a time', async (t) => {
  const clock = new MovableClock();
  const service = await setUp(t, clock);
  const first = await service.request(at, under('k', { body: { title: 'a' } }));
  for (let index = 0; index < 40; index += 1) await service.request(at, under(`${index}`, { body: {} }));
  clock.move(idempotencyLimits.lifetimeMs - 1);
  assert.deepEqual(told(await service.request(at, under('k', { body: { title: 'a' } }))), told(first));
  clock.move(1);
  const again = await service.request(at, under('k', { body: { title: 'b' } }));
  assert.deepEqual([again.status, isReplayed(again), again.json.title], [201, false, 'b']);
  assert.equal(await countOf(service, '$idempotency'), 41 - idempotencyLimits.removedMax);
  for (const key of ['x', 'y']) await service.request(at, under(key, { body: {} }));
  assert.equal(await countOf(service, '$idempotency'), 3);
  assert.equal(isReplayed(await service.request(at, under('k', { body: { title: 'b' } }))), true);
});

test('A7 what is kept of a request is of no use for trying out the password in it', async (t) => {
  const service = await setUp(t);
  const body = { title: 'a secret' };
  await service.request(at, under('k', { body }));
  const kept = await service.withInstance('default', ({ database }) =>
    database.tuples(sql`SELECT id, content FROM ${database.names.table('$idempotency')}`),
  );
  // As it would be made by anyone who has the data and not the master key.
  const content = hash('sha256', JSON.stringify(['', null, body]), 'base64url');
  const id = hash('sha256', JSON.stringify(['guest', 'POST', at, 'k']), 'base64url');
  assert.equal(kept.length, 1);
  assert.equal(kept.flat().includes(content) || kept.flat().includes(id), false);
});

test('A7 an answer outlives the server that gave it', async (t) => {
  const service = await setUp(t);
  const first = await service.request(at, under('k', { body: { title: 'a' } }));
  await service.stop();
  const next = await startService(t, { data: service.data });
  const again = await next.request(at, under('k', { body: { title: 'a' } }));
  assert.deepEqual(told(again), told(first));
  assert.equal(isReplayed(again), true);
});
