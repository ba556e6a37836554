// Both engines: values before are read in the transaction.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeKey } from '../support/make-key.ts';
import type { ReceivedRequest } from '../support/receiver.ts';
import { listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const posts = '/api/collections/posts/records';

test('a webhook says who has made the change: a superuser, a key, an account, or nobody known', async (t) => {
  const service = await startWebhookService(t);
  const rules = { createRule: '', updateRule: '', deleteRule: '' };
  await service.call('PATCH', '/api/collections/posts', { body: rules });
  const { id: user, token: ofUser } = await signUp(service);
  await service.addEndpoint({ collections: ['posts'] });
  const { id: keyId, key } = await makeKey(service, ['records:write']);
  for (const token of [true, ofUser, key, ''] as const)
    await service.request(posts, {
      method: 'POST',
      body: { title: 'mine' },
      ...(token === '' ? {} : { token }),
    });
  const requests = await service.receiver.waitForRequests(4);
  const actors = inOrder(requests).map(({ headers }) => headers['x-service-actor']);
  assert.deepEqual(new Set(actors), new Set(['superuser', `users/${user}`, `key:${keyId}`, 'guest']));
  const { items } = await service.call('GET', '/api/webhooks/events?sort=-created');
  assert.deepEqual(new Set(listOf(items).map(({ actor }) => actor)), new Set([...actors, 'superuser']));
});

test('a chain of webhooks counts its hops, and the write after the eighth is refused and changes nothing', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint();
  const write = (hops: string) =>
    service.request(posts, {
      method: 'POST',
      token: true,
      body: { title: hops },
      headers: { 'x-service-hops': hops },
    });
  await service.addPost();
  for (const hops of ['0', '1', '7']) assert.equal((await write(hops)).status, 201);
  const requests = await service.receiver.waitForRequests(4);
  assert.deepEqual(
    inOrder(requests).map(({ headers }) => headers['x-service-hops']),
    ['1', '1', '2', '8'],
  );
  for (const hops of ['8', '9', '999999999']) {
    const refused = await write(hops);
    assert.deepEqual([refused.status, refused.json.message], [400, 'Too many hops.']);
  }
  for (const hops of ['-1', '1.5', 'many', '', '1e3', '99999999999999999999'])
    assert.equal((await write(hops)).status, 400, hops);
  assert.equal((await service.call('GET', posts)).totalItems, 4);
  // What makes no event has no next webhook.
  assert.equal(
    (await service.request(posts, { token: true, headers: { 'x-service-hops': '8' } })).status,
    200,
  );
});

test('a batch passes its hops on to each of its changes', async (t) => {
  const service = await startWebhookService(t);
  await service.call('PATCH', '/api/settings', { body: { batch: { enabled: true } } });
  await service.addEndpoint();
  const requests = [
    { method: 'POST', url: posts, body: { title: 'one' } },
    { method: 'POST', url: posts, body: { title: 'two' } },
  ];
  const send = (hops: string) =>
    service.request('/api/batch', {
      method: 'POST',
      token: true,
      body: { requests },
      headers: { 'x-service-hops': hops },
    });
  assert.equal((await send('8')).status, 400);
  assert.equal((await send('4')).status, 200);
  const received = await service.receiver.waitForRequests(2);
  assert.deepEqual(
    received.map(({ headers }) => headers['x-service-hops']),
    ['5', '5'],
  );
});

test('a webhook of an update names the visible fields that have changed', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint({ order: 'strict' });
  const { id } = await service.addPost('before');
  const change = (body: object) => service.call('PATCH', `${posts}/${id}`, { body });
  await change({ title: 'after', rank: 3, isPublic: false });
  await change({ note: 'hidden' });
  await service.call('DELETE', `${posts}/${id}`, { status: 204 });
  const requests = await service.receiver.waitForRequests(4);
  assert.deepEqual(
    requests.map(({ headers }) => headers['x-service-changed']),
    [undefined, 'title,rank', undefined, undefined],
  );
  const { items } = await service.call('GET', `/api/webhooks/events?record=posts/${id}&sort=created`);
  assert.deepEqual(
    listOf(items).map(({ changed }) => changed),
    [[], ['title', 'rank'], [], []],
  );
});

test('an endpoint that asks for it is told the values before, of what has changed alone', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint({ order: 'strict', payload: 'previous' });
  const { id } = await service.call('POST', posts, {
    body: { title: 'a', rank: 1, extra: { n: [1] } },
  });
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'b', note: 'x', extra: null } });
  await service.call('DELETE', `${posts}/${id}`, { status: 204 });
  const [created, updated, deleted] = (await service.receiver.waitForRequests(3)).map(bodyOf);
  assert.ok(!('previous' in created));
  assert.deepEqual(Object.keys(updated).slice(-2), ['data', 'previous']);
  assert.deepEqual(updated.previous, { title: 'a', extra: { n: [1] } });
  assert.equal(updated.data.title, 'b');
  assert.deepEqual(deleted.previous, deleted.data);
});

test('an endpoint with fields is told no other values before', async (t) => {
  const service = await startWebhookService(t);
  const { id: endpoint } = await service.addEndpoint({
    order: 'strict',
    payload: 'previous',
    fields: ['rank'],
  });
  const { id } = await service.addPost('a');
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'b', rank: 2 } });
  const [, updated] = (await service.receiver.waitForRequests(2)).map(bodyOf);
  assert.deepEqual([updated.data, updated.previous], [{ id, rank: 2 }, { rank: 0 }]);
  const { items } = await service.call('GET', `/api/webhooks/feed?signed=${endpoint}&wait=10`);
  const pulled = listOf(items).at(-1);
  assert.deepEqual(JSON.parse(pulled.body), updated);
  assert.equal(pulled.headers['X-Service-Changed'], 'title,rank');
});

test('names of changed fields that are too long for a header are cut, and say so', async (t) => {
  const service = await startWebhookService(t);
  const names = Array.from({ length: 60 }, (_, index) => `field_${index}_`.padEnd(100, 'x'));
  const fields = names.map((name) => ({ name, type: 'text' }));
  await service.call('POST', '/api/collections', { body: { name: 'wide', type: 'base', fields } });
  await service.addEndpoint({ events: ['record.update'] });
  const wide = '/api/collections/wide/records';
  const { id } = await service.call('POST', wide, { body: {} });
  const body = Object.fromEntries(names.map((name) => [name, 'y']));
  await service.call('PATCH', `${wide}/${id}`, { body });
  const [request] = await service.receiver.waitForRequests(1);
  const header = String(request?.headers['x-service-changed']);
  assert.ok(header.length <= 4_096);
  const [last, ...kept] = header.split(',').toReversed();
  assert.equal(last, '*');
  assert.deepEqual(kept.toReversed(), names.slice(0, kept.length));
});

async function signUp(service: WebhookService): Promise<{ readonly id: string; readonly token: string }> {
  const users = '/api/collections/users';
  const account = { email: 'mia@example.com', password: 'correct horse', passwordConfirm: 'correct horse' };
  const { id } = await service.call('POST', `${users}/records`, { body: account });
  const { token } = await service.call('POST', `${users}/auth-with-password`, {
    body: { identity: account.email, password: account.password },
  });
  return { id, token };
}

/** The order of the events: sequences and times may be equal, ids are not. */
function inOrder(requests: readonly ReceivedRequest[]): readonly ReceivedRequest[] {
  const idOf = ({ headers }: ReceivedRequest): string => String(headers['webhook-id']);
  return requests.toSorted((one, other) => (idOf(one) < idOf(other) ? -1 : 1));
}

// oxlint-disable-next-line typescript/no-explicit-any
function bodyOf({ body }: ReceivedRequest): any {
  return JSON.parse(body.toString());
}
