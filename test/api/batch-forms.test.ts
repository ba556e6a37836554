import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type PocketBase from 'pocketbase';
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

const at = '/api/collections/posts/records';
const open = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };

async function setUp(t: TestContext): Promise<{ readonly service: TestService; readonly pb: PocketBase }> {
  const service = await startService(t);
  const pb = await superuserSdk(service);
  const fields = [
    { name: 'title', type: 'text', max: 20 },
    { name: 'meta', type: 'json' },
  ];
  await pb.collections.create({ name: 'posts', ...open, fields });
  return { service, pb };
}

const boundary = '----form0123456789abcdef';

function part(name: string, value: string, more = ''): string {
  return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
}

function sendForm(
  service: TestService,
  body: string,
  type = `multipart/form-data; boundary=${boundary}`,
): Promise<TestAnswer> {
  return service.request('/api/batch', { method: 'POST', body, headers: { 'content-type': type } });
}

function payload(title: unknown): string {
  return JSON.stringify({ requests: [{ method: 'POST', url: at, body: { title } }] });
}

const end = `--${boundary}--\r\n`;

test('section 21: the SDK makes, changes, replaces and deletes records in one batch', async (t) => {
  const { pb } = await setUp(t);
  const old = await pb.collection('posts').create({ title: 'old' });
  const batch = pb.createBatch();
  const posts = batch.collection('posts');
  posts.create({ title: 'Grüße 🌍', meta: { deep: [1, null, 'ä'] } });
  posts.update(old.id, { title: 'new' }, { query: { fields: 'title' } });
  posts.upsert({ id: 'a'.repeat(15), title: 'made' });
  posts.upsert({ id: 'a'.repeat(15), title: 'changed' });
  posts.delete(old.id);
  const results = await batch.send();
  assert.deepEqual(
    results.map(({ status }) => status),
    [201, 200, 201, 200, 204],
  );
  assert.deepEqual(results[0]?.body.meta, { deep: [1, null, 'ä'] });
  assert.deepEqual(results[1]?.body, { title: 'new' });
  assert.equal(results[4]?.body, null);
  const left = await pb.collection('posts').getFullList({ sort: 'title' });
  assert.deepEqual(
    left.map(({ title }) => String(title)),
    ['Grüße 🌍', 'changed'],
  );
});

test('section 15: the SDK is told which of its requests failed and why, and nothing of the batch is kept', async (t) => {
  const { pb } = await setUp(t);
  const batch = pb.createBatch();
  batch.collection('posts').create({ title: 'good' });
  batch.collection('posts').create({ title: 'x'.repeat(21) });
  const refusal = await refusalOf(batch.send());
  assert.equal(refusal.status, 400);
  const { title } = refusal.response['data'].requests['1'].response.data;
  assert.equal(title.code, 'validation_max_text_constraint');
  assert.deepEqual(await pb.collection('posts').getFullList(), []);
});

test('files in a batch are passed over where no request has a field for them', async (t) => {
  const { pb } = await setUp(t);
  const batch = pb.createBatch();
  batch.collection('posts').create({ title: 'good', attachment: new File(['\xff\xfe'], 'a.bin') });
  const [made] = await batch.send();
  assert.deepEqual([made?.status, made?.body.title, made?.body.attachment], [201, 'good', undefined]);
});

test('H-71 of several @jsonPayload the last one counts, other parts are ignored, quotes and charset are understood', async (t) => {
  const { service } = await setUp(t);
  const forms: readonly (readonly [string, string])[] = [
    [part('@jsonPayload', payload('a')) + end, ''],
    [part('@jsonPayload', payload('b')) + part('@jsonPayload', payload('a')) + end, ''],
    [part('@jsonPayload', payload('a')) + part('@jsonPayload', '{}') + end, ''],
    [part('requests', 'x') + part('__proto__', 'x') + part('@jsonPayload', payload('a')) + end, ''],
    [part('@jsonPayload', payload('a')) + end, `multipart/form-data; boundary="${boundary}"`],
    [part('@jsonPayload', payload('a')) + end, `Multipart/Form-Data;boundary=${boundary}; charset=UTF-8`],
  ];
  for (const [body, type] of forms) {
    const answer = await (type === '' ? sendForm(service, body) : sendForm(service, body, type));
    assert.deepEqual([answer.status, answer.json[0]?.body.title], [200, 'a'], `${type} ${body}`);
  }
});

test('H-70 H-73 a form that is none, or too much of one, gets a 400 at once', async (t) => {
  const { service } = await setUp(t);
  const good = part('@jsonPayload', payload('a'));
  const many = Array.from({ length: 100_000 }, () => part('x', '')).join('');
  const bad: readonly (readonly [string, string?])[] = [
    [''],
    ['x'],
    [good],
    [good.slice(0, 80)],
    [good.replaceAll('\r\n', '\n') + end],
    [many + end],
    [many + good + end],
    [part('@jsonPayload', '{"requests":') + end],
    [part('@jsonPayload', '[]') + end],
    [part('@jsonPayload', payload('\\ud800').replace('\\\\', '\\')) + end],
    [part('@jsonPayload', payload('a'), '; filename="a.json"') + end],
    [part('@jsonPayload', `--y\r\n\r\n${payload('a')}\r\n--y--`) + end],
    [good.replace('form-data', 'attachment') + end],
    [good.replace('"@jsonPayload"', '@jsonPayload') + end],
    [good + end, 'multipart/form-data'],
    [good + end, 'multipart/form-data; boundary='],
    [good + end, `multipart/form-data; boundary=${boundary}; boundary=x`],
    [good + end, `multipart/form-data; boundary=${'x'.repeat(71)}`],
    [good + end, `multipart/form-data; boundary=x${boundary}`],
  ];
  for (const [body, type] of bad) {
    const answer = await (type === undefined ? sendForm(service, body) : sendForm(service, body, type));
    assert.equal(answer.status, 400, `${type ?? ''} ${body.slice(0, 200)}`);
    assert.deepEqual(Object.keys(answer.json), ['data', 'message', 'status']);
  }
  assert.equal((await service.request(at)).json.totalItems, 0);
});

test('H-55 a form that is not UTF-8 is refused instead of repaired', async (t) => {
  const { service } = await setUp(t);
  const bytes = Buffer.from(part('@jsonPayload', payload('ÿ')) + end, 'latin1');
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
  const answer = await fetch(`${service.url}/api/batch`, { method: 'POST', body: bytes, headers });
  assert.equal(answer.status, 400);
});

test('a key that a request of a batch gives twice is refused, as it is in a body of its own', async (t) => {
  const { service } = await setUp(t);
  const twice = '{"title":"a","title":"b"}';
  const batch = (item: string): string => `{"requests":[{"method":"POST","url":"${at}",${item}}]}`;
  const message = /^The key "title" is repeated at position \d+\.$/;
  const headers = { 'content-type': 'application/json' };
  const alone = await service.request(at, { method: 'POST', body: twice, headers });
  const inBatch = await service.request('/api/batch', {
    method: 'POST',
    body: batch(`"body":${twice}`),
    headers,
  });
  const inForm = await sendForm(service, part('@jsonPayload', batch(`"body":${twice}`)) + end);
  for (const { status, json } of [alone, inBatch, inForm]) {
    assert.equal(status, 400);
    assert.match(json.message, message);
  }
  const body = batch('"body":{"meta":{"a":1,"a":2}}');
  const inside = await service.request('/api/batch', { method: 'POST', body, headers });
  assert.equal(inside.status, 200, inside.text);
  assert.deepEqual(inside.json[0].body.meta, { a: 2 }, 'inside a value the last one wins, as everywhere');
});
