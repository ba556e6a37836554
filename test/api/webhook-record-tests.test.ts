// Both engines: a test is read as a record, and is no event.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { makeKey } from '../support/make-key.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const endpoints = '/api/webhooks/endpoints';

function send(service: WebhookService, id: string, body: Json): Promise<Json> {
  return service.call('POST', `${endpoints}/${id}/test`, { body });
}

function bodyOf({ receiver }: WebhookService, index: number): Json {
  return JSON.parse(receiver.requests[index]?.body.toString() ?? '');
}

test('a test with a record sends it as it is, as the endpoint would get it, and says that it is a test', async (t) => {
  const service = await startWebhookService(t);
  const post = await service.addPost('one');
  const path = `/api/collections/posts/records/${post.id}`;
  await service.call('PATCH', path, { body: { rank: 7, note: 'hidden' } });
  const settings = { collections: ['posts'], fields: ['rank'], headers: { 'x-shop': 'berlin' } };
  const { id, secret } = await service.addEndpoint({ ...settings, status: 'paused' });
  const delivery = await send(service, id, { recordId: post.id });
  assert.deepEqual(
    [delivery.status, delivery.kind, delivery.collection, delivery.record],
    ['delivered', 'test', 'posts', post.id],
  );
  const [request] = service.receiver.requests;
  const { timestamp, instance_id: _, ...body } = bodyOf(service, 0);
  assert.deepEqual(body, { event: 'record.update', collection: 'posts', data: { id: post.id, rank: 7 } });
  assert.match(timestamp, /^20/);
  const names = ['test', 'event', 'collection', 'sequence', 'attempt', 'actor'];
  assert.deepEqual(
    names.map((name) => request?.headers[`x-service-${name}`]),
    ['true', 'record.update', 'posts', '2', '1', 'superuser'],
  );
  assert.equal(request?.headers['x-shop'], 'berlin');
  // The library wants no more of headers than that they are texts.
  new Webhook(secret).verify(request?.body.toString() ?? '', request?.headers as Record<string, string>);
  for (const event of ['record.create', 'record.delete']) {
    await send(service, id, { recordId: post.id, event, collection: 'posts' });
    const last = service.receiver.requests.at(-1);
    assert.equal(last?.headers['x-service-event'], event);
    assert.equal(bodyOf(service, service.receiver.requests.length - 1).event, event);
  }
  await send(service, id, { event: 'ping' });
  assert.equal(service.receiver.requests.at(-1)?.headers['x-service-test'], undefined);
  assert.equal((await service.call('GET', path)).rank, 7);
});

test('a record that is too large is sent thin by a test as well, with the event that was asked for', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.addEndpoint();
  const body = { title: 'large', extra: 'x'.repeat(300_000) };
  const post = await service.call('POST', '/api/collections/posts/records', { body, status: 201 });
  await eventually('the event itself', () => service.receiver.requests.length === 1);
  await send(service, id, { recordId: post.id, collection: 'posts', event: 'record.delete' });
  const { event, data } = bodyOf(service, 1);
  assert.deepEqual([event, data], ['record.delete', { id: post.id }]);
  assert.equal(service.receiver.requests[1]?.headers['x-service-truncated'], 'data');
});

test('W-59 a test with a record is a change of it to nobody: no feed, realtime, story, endpoint, count or replay has it', async (t) => {
  const service = await startWebhookService(t);
  const post = await service.addPost('one');
  const stream = await EventStream.open(t, service.url);
  const collection = await service.call('GET', '/api/collections/posts');
  await service.call('PATCH', `/api/collections/${collection.id}`, { body: { listRule: '', viewRule: '' } });
  const subscription = { clientId: stream.clientId, subscriptions: ['posts/*'] };
  await service.call('POST', '/api/realtime', { body: subscription });
  service.receiver.mode = { kind: 'status', status: 500 };
  const { id } = await service.addEndpoint({ order: 'record', coalesce: true });
  const other = await service.addEndpoint();
  const failed = await send(service, id, { recordId: post.id, collection: 'posts' });
  assert.equal(failed.status, 'exhausted');
  await send(service, id, {});
  service.receiver.mode = { kind: 'ok' };
  for (const scope of ['failed', 'missing', 'all']) {
    const body = { scope, dryRun: true };
    const counted = await service.call('POST', `${endpoints}/${id}/replay`, { body });
    // The creation alone: the endpoint was not told of it, and a test is none of its deliveries.
    assert.deepEqual([scope, counted.total], [scope, scope === 'failed' ? 0 : 1]);
  }
  const story = await service.call('GET', `/api/webhooks/events?record=posts/${post.id}`);
  assert.deepEqual(
    listOf(story.items).map(({ kind }) => kind),
    ['record.create'],
  );
  assert.deepEqual(await service.deliveries(`endpoint = '${other.id}'`), []);
  // What happens after it is told to everybody as if there were no test.
  await service.call('PATCH', `/api/collections/posts/records/${post.id}`, { body: { title: 'two' } });
  const told = await eventually('the change at the feed', async () => {
    const { items } = await service.call('GET', '/api/webhooks/feed');
    return items.length === 2 && listOf(items);
  });
  assert.deepEqual(
    told.map(({ payload, sequence }) => [payload.event, sequence]),
    [
      ['record.create', 1],
      ['record.update', 2],
    ],
  );
  await eventually('the change at both endpoints', async () => {
    const delivered = await service.deliveries("kind = 'record.update' && status = 'delivered'");
    return delivered.length === 2;
  });
  await eventually('the change in realtime', () => stream.messages.length > 0);
  assert.deepEqual(
    stream.messages.map(({ data }) => [data.action, data.record.title]),
    [['update', 'two']],
  );
  const log = await service.call('GET', `/api/webhooks/events?filter=${encodeURIComponent("kind = 'test'")}`);
  assert.deepEqual([log.totalItems, log.items[0].collection, log.items[0].record], [1, 'posts', post.id]);
});

test('what is wrong with a test is said by member', async (t) => {
  const service = await startWebhookService(t);
  const { id: recordId } = await service.addPost();
  const any = await service.addEndpoint();
  const ofPosts = await service.addEndpoint({ collections: ['posts'] });
  const cases: readonly (readonly [Json, Json, readonly string[]])[] = [
    [any, { recordId }, ['collection']],
    [any, { recordId, collection: 'nothing' }, ['collection']],
    [any, { recordId, collection: '_superusers' }, ['collection']],
    [any, { recordId: 'nothing', collection: 'posts' }, ['recordId']],
    [any, { collection: 'posts' }, ['recordId']],
    [any, { event: 'record.update' }, ['event']],
    [any, { event: 7, recordId: [], collection: {} }, ['collection', 'event', 'recordId']],
    [ofPosts, { recordId, event: 'ping' }, ['event']],
    [ofPosts, { recordId, record: 'x' }, ['record']],
    [ofPosts, { recordId: 'nothing' }, ['recordId']],
    [ofPosts, { recordId, collection: 'users' }, ['recordId']],
  ];
  for (const [{ id }, body, names] of cases) {
    const { data } = await service.call('POST', `${endpoints}/${id}/test`, { body, status: 400 });
    assert.deepEqual(Object.keys(data).toSorted(), names, JSON.stringify(body));
  }
  const body = { recordId, collection: 'posts' };
  await service.call('POST', `${endpoints}/nothing/test`, { body, status: 404 });
  assert.equal(service.receiver.requests.length, 0);
});

test('W-60 a key that may change endpoints cannot have records sent that it may not read', async (t) => {
  const service = await startWebhookService(t);
  const { id: recordId } = await service.addPost('secret');
  const { id } = await service.addEndpoint({ collections: ['posts'] });
  const ask = async (scopes: readonly string[], collection = 'posts'): Promise<readonly unknown[]> => {
    const { key } = await makeKey(service, scopes);
    const path = `${endpoints}/${id}/test`;
    const answer = await service.request(path, {
      method: 'POST',
      token: key,
      body: { recordId, collection },
    });
    return [answer.status, answer.json.message];
  };
  const noScope = [403, 'The API key needs the scope records:read.'];
  assert.deepEqual(await ask(['webhooks:write']), noScope);
  assert.deepEqual(await ask(['webhooks:write', 'records:write']), noScope);
  assert.equal((await ask(['webhooks:read', 'records:read']))[0], 403);
  const unreached = await ask(['webhooks:write', 'records:read'], '_superusers');
  assert.deepEqual(unreached, [403, 'The API key does not reach this collection.']);
  assert.equal(service.receiver.requests.length, 0);
  const reached = await ask(['webhooks:write', 'records:read']);
  assert.equal(reached[0], 200);
  assert.equal(service.receiver.requests[0]?.headers['x-service-actor']?.slice(0, 4), 'key:');
});
