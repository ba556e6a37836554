// Both engines: results are stored, and read at a start.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Flags } from '../../src/config/config.ts';
import type { Database } from '../../src/storage/database.ts';
import type { DispatcherOptions } from '../../src/dispatch/dispatcher.ts';
import { eventually } from '../support/eventually.ts';
import { FaultyDatabase } from '../support/faulty-database.ts';
import { MovableClock } from '../support/movable-clock.ts';
import type { Receiver, ReceiverMode } from '../support/receiver.ts';
import { listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

function ids(receiver: Receiver): readonly string[] {
  return receiver.requests.map(({ headers }) => String(headers['x-service-delivery']));
}

test('what was pending when the service stopped is sent by the next one, due or overdue', async (t) => {
  const clock = new MovableClock();
  const mode = { kind: 'status', status: 500 } as const;
  const before = await startWebhookService(t, { mode, parts: { clock } });
  await before.addEndpoint({ schedule: [60, 60] });
  for (const title of ['a', 'b', 'c']) await before.addPost(title);
  await eventually('three failures', async () =>
    (await before.deliveries()).every(({ attempts }) => attempts.length === 1),
  );
  await before.stop();
  clock.move(80_000);
  before.receiver.mode = { kind: 'ok' };
  const after = await startWebhookService(t, { data: before.data, parts: { clock } });
  await before.receiver.waitForRequests(6);
  await eventually('all delivered', async () =>
    (await after.deliveries()).every(({ status }) => status === 'delivered'),
  );
  assert.equal(before.receiver.requests.length, 6);
});

test('a stop lets requests in flight end, settles them, and the next start sends none of them again', async (t) => {
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  const before = await startWebhookService(t, { mode: { kind: 'held', until } });
  await before.addEndpoint({ maxInFlight: 4 });
  await Promise.all(Array.from({ length: 12 }, () => before.addPost()));
  // An endpoint that has not answered yet is sent two at once.
  await before.receiver.waitForRequests(2);
  const stopped = before.stop();
  release();
  await stopped;
  assert.equal(before.receiver.requests.length, 2);
  before.receiver.mode = { kind: 'ok' };
  const after = await startWebhookService(t, { data: before.data });
  await eventually('all delivered', async () =>
    (await after.deliveries()).every(({ status }) => status === 'delivered'),
  );
  assert.equal(before.receiver.requests.length, 12);
  assert.equal(new Set(ids(before.receiver)).size, 12);
  assert.ok((await after.deliveries()).every(({ attempts }) => attempts.length === 1));
});

test('a stop waits no longer than its time-out, and what it cut short is sent again and counts as no attempt', async (t) => {
  const flags = { 'stop-timeout': '1' };
  const before = await startWebhookService(t, { mode: { kind: 'never answers' }, flags });
  await before.addEndpoint({ timeoutMs: 30_000 });
  await before.addPost();
  await before.receiver.waitForRequests(1);
  const start = performance.now();
  await before.stop();
  const tookMs = performance.now() - start;
  assert.ok(tookMs >= 900 && tookMs < 25_000, `${tookMs} ms, where the request would take 30 s`);
  before.receiver.mode = { kind: 'ok' };
  const after = await startWebhookService(t, { data: before.data });
  const { attempts } = await after.delivery('the delivery', ({ status }) => status === 'delivered');
  assert.equal(attempts.length, 1);
  assert.deepEqual(
    before.receiver.requests.map(({ headers }) => headers['x-service-attempt']),
    ['1', '1'],
  );
});

test('a stop with nothing in flight takes no time and leaves no timer behind', async (t) => {
  const service = await startWebhookService(t, { mode: { kind: 'status', status: 500 } });
  await service.addEndpoint();
  await service.addPost();
  await service.delivery('a failure', ({ attempts }) => attempts.length === 1);
  // Asked to look and to stop in one breath: the look must not set a timer that nobody clears.
  service.look();
  const start = performance.now();
  await service.stop();
  assert.ok(performance.now() - start < 15_000, 'less than the 20 s that requests in flight would have');
  const timers = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout');
  assert.ok(timers.length <= 1, `${timers.length} timers, of which one is the test's own`);
});

/** A service whose default instance's medium can be told to fail. */
async function startOverFaulty(
  t: TestContext,
  mode: ReceiverMode,
  flags: Flags = {},
): Promise<{ readonly service: WebhookService; readonly database: () => FaultyDatabase }> {
  let faulty: FaultyDatabase | undefined;
  const wrapDatabase = (plain: Database): Database => (faulty = new FaultyDatabase(plain));
  const service = await startWebhookService(t, { mode, flags, parts: { wrapDatabase } });
  const database = (): FaultyDatabase => {
    assert.ok(faulty);
    return faulty;
  };
  return { service, database };
}

test('a settlement that cannot be stored is kept up until it can, and nothing is sent twice', async (t) => {
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  const { service, database } = await startOverFaulty(t, { kind: 'held', until });
  await service.addEndpoint();
  await service.addPost();
  await service.receiver.waitForRequests(1);
  database().canWrite = false;
  release();
  await eventually('a failed settlement', () => database().refusedCount > 0);
  service.look();
  database().canWrite = true;
  const { attempts } = await service.delivery('the settlement', ({ status }) => status === 'delivered');
  assert.deepEqual([attempts.length, service.receiver.requests.length], [1, 1]);
});

test('a test of an endpoint is answered although its outcome cannot be stored, and is settled as soon as it can', async (t) => {
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  const { service, database } = await startOverFaulty(t, { kind: 'held', until });
  const { id } = await service.addEndpoint();
  const answered = service.request(`/api/webhooks/endpoints/${id}/test`, { method: 'POST', token: true });
  let status: number | undefined;
  void answered.then((answer) => (status = answer.status));
  await service.receiver.waitForRequests(1);
  database().canWrite = false;
  release();
  assert.equal(await eventually('the answer', () => status), 500);
  database().canWrite = true;
  await service.delivery('the settlement', (delivery) => delivery.status === 'delivered');
  assert.equal(service.receiver.requests.length, 1);
});

test('a stop goes on trying to store what came of attempts while it has time, so that none of them is sent again', async (t) => {
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  const { service: before, database } = await startOverFaulty(t, { kind: 'held', until });
  await before.addEndpoint();
  await before.addPost();
  await before.receiver.waitForRequests(1);
  database().canWrite = false;
  release();
  await eventually('a failed settlement', () => database().refusedCount > 0);
  const refusedBefore = database().refusedCount;
  const stopped = before.stop();
  await eventually('two more', () => database().refusedCount >= refusedBefore + 2);
  database().canWrite = true;
  await stopped;
  const after = await startWebhookService(t, { data: before.data });
  const { attempts } = await after.delivery('the delivery', ({ status }) => status === 'delivered');
  assert.deepEqual([attempts.length, before.receiver.requests.length], [1, 1]);
});

test('a stop ends although neither a settlement nor the pause of a 410 can be stored; both are made up for', async (t) => {
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  const mode = { kind: 'held', until, status: 410 } as const;
  const { service: before, database } = await startOverFaulty(t, mode, { 'stop-timeout': '1' });
  // Among nodes, what was in flight at a stop and could not be settled is due when its attempt must be over.
  const { id } = await before.addEndpoint({ timeoutMs: 5_000 });
  await before.addPost();
  await before.receiver.waitForRequests(1);
  database().canWrite = false;
  release();
  await before.stop();
  assert.ok(before.log.some(({ message }) => message === 'Results of attempts could not be stored.'));
  const after = await startWebhookService(t, { data: before.data });
  await eventually(
    'the pause',
    async () => (await after.call('GET', `/api/webhooks/endpoints/${id}`)).status === 'paused',
  );
  const { attempts } = await after.delivery('the attempt', (delivery) => delivery.attempts.length > 0);
  assert.equal(attempts.length, 1);
});

test('an attempt that is cut short because the sending thread died is made again', async (t) => {
  let cut = 0;
  const wrapSender = (sender: DispatcherOptions['sender']): DispatcherOptions['sender'] => ({
    send: (requests) => sender.send(requests),
    stop: (graceMs) => sender.stop(graceMs),
    handshake: (url) => sender.handshake(url),
    request: (request) => sender.request(request),
    onResults: (listener) =>
      sender.onResults((results) => {
        // As the sender reports what a dead worker left: the first time for every attempt.
        const aborted = { isSuccess: false, kind: 'aborted', isEndpointWide: false } as const;
        listener(cut++ === 0 ? results.map((result) => ({ ...result, ...aborted })) : results);
      }),
  });
  const service = await startWebhookService(t, { parts: { wrapSender } });
  await service.addEndpoint();
  await service.addPost();
  const { attempts } = await service.delivery('the delivery', ({ status }) => status === 'delivered');
  assert.deepEqual(
    listOf(attempts).map(({ number }) => number),
    [1],
  );
  assert.equal(service.receiver.requests.length, 2);
});
