// Both engines: lanes read what is due.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toIsoTimestamp, toTimestamp } from '../../src/base/timestamp.ts';
import type { Instance } from '../../src/instances/instance.ts';
import { loopbackRanges } from '../../src/network/address-guard.ts';
import { createEndpoint } from '../../src/deliveries/endpoints/change-endpoint.ts';
import { eventually } from '../support/eventually.ts';
import { faultyDatabases } from '../support/faulty-databases.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { Receiver } from '../support/receiver.ts';
import { startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const policy = { allowHttp: true, allowed: loopbackRanges };

async function addPosts(service: WebhookService, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, index) => service.addPost(`post ${index}`)));
}

function titles(receiver: Receiver): readonly string[] {
  return receiver.requests.map(({ body }) => JSON.parse(body.toString()).data.title);
}

test('an endpoint never has more requests open than it allows, and everything arrives once', async (t) => {
  const service = await startWebhookService(t, { mode: { kind: 'slow', delayMs: 20 } });
  const { id } = await service.addEndpoint({ maxInFlight: 3 });
  const path = `/api/webhooks/endpoints/${id}`;
  // All at once, however slowly they are written.
  await service.call('POST', `${path}/pause`, { body: {} });
  await addPosts(service, 30);
  await service.call('POST', `${path}/resume`, { body: {} });
  await service.receiver.waitForRequests(30);
  await eventually('all settled', async () => (await service.deliveries("status = 'pending'")).length === 0);
  assert.equal(service.receiver.openRequestsMost, 3);
  assert.equal(new Set(titles(service.receiver)).size, 30);
  assert.equal(service.receiver.requests.length, 30);
});

test('with one request at a time events arrive in the order of their commits', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint({ maxInFlight: 1 });
  const expected: string[] = [];
  for (let index = 0; index < 40; index += 1) {
    expected.push(`post ${index}`);
    await service.addPost(`post ${index}`);
  }
  await service.receiver.waitForRequests(40);
  assert.deepEqual(titles(service.receiver), expected);
});

test('FW-10 pausing and resuming with requests open does not let more of them be open', async (t) => {
  const service = await startWebhookService(t, { mode: { kind: 'never answers' } });
  const { id } = await service.addEndpoint({ maxInFlight: 2, timeoutMs: 1_000 });
  await addPosts(service, 6);
  await service.receiver.waitForRequests(2);
  await service.call('POST', `/api/webhooks/endpoints/${id}/pause`, { body: {} });
  service.look();
  await service.call('POST', `/api/webhooks/endpoints/${id}/resume`, { body: {} });
  service.receiver.mode = { kind: 'ok' };
  await service.receiver.waitForRequests(6);
  assert.equal(service.receiver.openRequestsMost, 2);
});

test('FW-10 an endpoint that allows fewer requests than before is given no more while they are open', async (t) => {
  const service = await startWebhookService(t, { mode: { kind: 'slow', delayMs: 300 } });
  const { id } = await service.addEndpoint({ maxInFlight: 4 });
  await addPosts(service, 2);
  await service.receiver.waitForRequests(2);
  await service.call('PATCH', `/api/webhooks/endpoints/${id}`, { body: { maxInFlight: 1 } });
  service.receiver.openRequestsMost = 0;
  await addPosts(service, 3);
  await service.receiver.waitForRequests(5);
  assert.equal(service.receiver.openRequestsMost, 1);
});

test('a paused endpoint collects, is sent nothing, and gets all of it in order when it is resumed', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.addEndpoint({ maxInFlight: 1 });
  const path = `/api/webhooks/endpoints/${id}`;
  const paused = await service.call('POST', `${path}/pause`, { body: {} });
  assert.deepEqual([paused.status, paused.statusReason], ['paused', '']);
  for (const title of ['a', 'b', 'c']) await service.addPost(title);
  const other = await service.addEndpoint({
    collections: ['posts'],
    url: service.receiver.urlAt('127.0.0.1', '/b'),
  });
  await service.addPost('d');
  await service.receiver.waitForRequests(1);
  assert.deepEqual(
    service.receiver.requests.map((request) => request.path),
    ['/b'],
  );
  await service.call('DELETE', `/api/webhooks/endpoints/${other.id}`, { status: 204 });
  await service.call('POST', `${path}/resume`, { body: { backlog: 'drain' } });
  await service.receiver.waitForRequests(5);
  assert.deepEqual(titles(service.receiver).slice(1), ['a', 'b', 'c', 'd']);
});

test('W-35 FW-02 an endpoint that hangs delays no other of its instance, retries included', async (t) => {
  const service = await startWebhookService(t, {
    mode: { kind: 'never answers' },
    flags: { 'stop-timeout': '0' },
  });
  await using healthy = await Receiver.open({ mode: { kind: 'status', status: 404 } });
  await service.addEndpoint({ timeoutMs: 30_000 });
  await service.addEndpoint({ url: healthy.url, schedule: [1] });
  const start = performance.now();
  await addPosts(service, 6);
  await healthy.waitForRequests(6);
  healthy.mode = { kind: 'ok' };
  // By the dispatcher's own timer, while requests to the one that hangs are open.
  await healthy.waitForRequests(12);
  assert.ok(performance.now() - start < 30_000, 'none of those that hang had ended');
  const delivered = await eventually('six delivered', async () => {
    const found = await service.deliveries("status = 'delivered'");
    return found.length === 6 ? found : undefined;
  });
  assert.ok(delivered.every(({ attempts }) => attempts.length === 2));
});

test('FW-10 a change of url, headers or secret counts from the next attempt on, and nothing is lost', async (t) => {
  const clock = new MovableClock();
  const mode = { kind: 'status', status: 500 } as const;
  const service = await startWebhookService(t, { mode, parts: { clock } });
  await using moved = await Receiver.open();
  const { id } = await service.addEndpoint({ schedule: [60] });
  await service.addPost();
  await service.delivery('a failure', ({ attempts }) => attempts.length === 1);
  const body = { url: moved.url, headers: { 'x-new': 'yes' } };
  await service.call('PATCH', `/api/webhooks/endpoints/${id}`, { body });
  clock.move(80_000);
  service.look();
  const [request] = await moved.waitForRequests(1);
  assert.equal(request?.headers['x-new'], 'yes');
  assert.equal(service.receiver.requests.length, 1);
});

test('a late 410 of the old address does not pause an endpoint that was sent elsewhere', async (t) => {
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  const service = await startWebhookService(t, { mode: { kind: 'held', until, status: 410 } });
  await using moved = await Receiver.open();
  const { id } = await service.addEndpoint({ schedule: [] });
  await service.addPost();
  await service.receiver.waitForRequests(1);
  await service.call('PATCH', `/api/webhooks/endpoints/${id}`, { body: { url: moved.url } });
  release();
  await service.delivery('the late answer', ({ status }) => status === 'exhausted');
  await service.addPost();
  await moved.waitForRequests(1);
  assert.equal((await service.call('GET', `/api/webhooks/endpoints/${id}`)).status, 'active');
});

test('FT-01 a clock that was set back holds up no event of a record that was written before', async (t) => {
  const clock = new MovableClock();
  const service = await startWebhookService(t, { parts: { clock } });
  const { id, updated } = await service.addPost();
  await service.addEndpoint();
  clock.move(-3_600_000);
  await service.signIn();
  await service.call('PATCH', `/api/collections/posts/records/${id}`, { body: { title: 'changed' } });
  const [request] = await service.receiver.waitForRequests(1);
  const { timestamp } = JSON.parse(request?.body.toString() ?? '');
  assert.equal(timestamp, toIsoTimestamp(updated));
  assert.ok(updated > toTimestamp(clock.now()));
});

test('an instance whose file cannot be read holds up no other, and goes on when it can be read again', async (t) => {
  const { databases, wrapDatabase } = faultyDatabases();
  const mode = { kind: 'slow', delayMs: 200 } as const;
  const service = await startWebhookService(t, { mode, parts: { wrapDatabase } });
  const { id } = await service.addEndpoint({ maxInFlight: 1 });
  const path = `/api/webhooks/endpoints/${id}`;
  await using other = await Receiver.open();
  await service.app.data.directory.create('other', null);
  await service.withInstance('other', (instance) => createEndpoint(instance, { url: other.url }, policy));
  // One is in flight and the others are read ahead.
  await service.call('POST', `${path}/pause`, { body: {} });
  await addPosts(service, 20);
  await service.call('POST', `${path}/resume`, { body: {} });
  await service.receiver.waitForRequests(1);
  const [broken] = databases;
  assert.ok(broken);
  broken.canRead = false;
  const brokenMs = performance.now();
  await eventually('the complaint', () => complaintsOf(service) > 0);
  for (let count = 1; count <= 5; count += 1) {
    await service.withInstance('other', (instance) => appendEvent(instance));
    await other.waitForRequests(count);
  }
  const seconds = (performance.now() - brokenMs) / 1_000;
  assert.ok(complaintsOf(service) <= 3 + seconds, 'about one complaint a second, not one for each delivery');
  const rounds: number[] = [];
  for (let count = 6; count <= 15; count += 1) {
    await service.addPost();
    const startMs = performance.now();
    await service.withInstance('other', (instance) => appendEvent(instance));
    await other.waitForRequests(count);
    rounds.push(performance.now() - startMs);
  }
  // The least of ten, as a slow machine may need a second for some.
  assert.ok(Math.min(...rounds) < 700, 'no wait of a second in each round');
  broken.canRead = true;
  service.receiver.mode = { kind: 'ok' };
  await service.receiver.waitForRequests(30);
  await eventually('all settled', async () => (await service.deliveries("status = 'pending'")).length === 0);
  assert.equal(service.receiver.requests.length, 30);
});

function complaintsOf(service: WebhookService): number {
  return service.log.filter(({ message }) => message === 'Reading due deliveries failed; retrying.').length;
}

function appendEvent(instance: Instance): Promise<unknown> {
  const event = {
    kind: 'record.create',
    collection: 'c',
    collectionName: 'posts',
    record: 'r',
    revision: 1,
  } as const;
  const created = toTimestamp(instance.clock.now());
  return instance.database.write((tx) => instance.events.append(tx, { ...event, created, dataJson: '{}' }));
}

test('W-48 tests of an endpoint that hangs are few at a time, and take no place of what is to be delivered', async (t) => {
  const service = await startWebhookService(t);
  const end = Promise.withResolvers<void>();
  // Also when this fails: the service would wait for its answers.
  t.after(() => end.resolve());
  const hanging = await Receiver.open({ mode: { kind: 'held', until: end.promise } });
  t.after(() => hanging.close());
  const { id } = await service.addEndpoint({
    url: hanging.url,
    events: ['record.delete'],
    timeoutMs: 30_000,
  });
  await service.addEndpoint();
  const refusals: (string | null)[] = [];
  // As many as could be in flight of all instances, and more.
  const asked = Array.from({ length: 300 }, async () => {
    const path = `/api/webhooks/endpoints/${id}/test`;
    const answer = await service.request(path, { method: 'POST', token: true });
    if (answer.status === 429) refusals.push(answer.headers.get('retry-after'));
  });
  await hanging.waitForRequests(8);
  await service.addPost();
  await service.receiver.waitForRequests(1);
  await eventually('the others refused', () => refusals.length === 292);
  end.resolve();
  await Promise.all(asked);
  assert.deepEqual(new Set(refusals), new Set(['1']));
  assert.equal(hanging.openRequestsMost, 8);
  const { status } = await service.call('POST', `/api/webhooks/endpoints/${id}/test`, {});
  assert.equal(status, 'delivered');
});
