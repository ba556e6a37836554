// Both engines: retries are rows that are due.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { standardSchedule } from '../../src/deliveries/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import type { ReceiverMode } from '../support/receiver.ts';
import { type Json, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

interface Timed {
  readonly service: WebhookService;
  readonly clock: MovableClock;
}

/** A service whose clock stands still, and one failed attempt of one delivery. */
async function failOnce(
  t: TestContext,
  mode: ReceiverMode,
  settings: Json = {},
): Promise<Timed & { first: Json }> {
  const clock = new MovableClock();
  const service = await startWebhookService(t, { mode, parts: { clock } });
  await service.addEndpoint(settings);
  await service.addPost();
  return { service, clock, first: await attempts(service, 1) };
}

function attempts(service: WebhookService, count: number): Promise<Json> {
  return service.delivery(`attempt ${count}`, (delivery) => delivery.attempts.length === count);
}

/** Milliseconds from now to the delivery's next attempt. */
function waitOf(delivery: Json, clock: MovableClock): number {
  return Date.parse(delivery.nextAttempt) - clock.now();
}

const failing = { kind: 'status', status: 500 } as const;

test('a delivery that fails is sent again by the schedule, not a moment early, and is exhausted after 76 hours', async (t) => {
  const { service, clock, first } = await failOnce(t, failing);
  let delivery = first;
  for (const [index, seconds] of standardSchedule.entries()) {
    assert.equal(delivery.status, 'pending');
    const wait = waitOf(delivery, clock);
    assert.ok(
      wait >= seconds * 750 && wait <= seconds * 1_250 + 1,
      `${wait} ms where ${seconds} s were meant`,
    );
    clock.move(wait - 1);
    service.look();
    await service.signIn();
    assert.equal(service.receiver.requests.length, index + 1);
    clock.move(1);
    service.look();
    delivery = await attempts(service, index + 2);
  }
  assert.equal(delivery.status, 'exhausted');
  assert.equal(delivery.nextAttempt, '');
  assert.equal(delivery.cause, 'The receiver answered with status 500.');
  clock.move(30 * 86_400_000);
  service.look();
  await service.signIn();
  assert.equal(service.receiver.requests.length, standardSchedule.length + 1);
});

test('the jitter of deliveries that failed together parts them', async (t) => {
  const clock = new MovableClock();
  // A refusal of each event; after ten, or five failures of the whole endpoint, nothing more would be sent.
  const mode = { kind: 'status', status: 400 } as const;
  const service = await startWebhookService(t, { mode, parts: { clock } });
  await service.addEndpoint({ schedule: [3_600] });
  for (let count = 0; count < 9; count += 1) await service.addPost();
  await service.receiver.waitForRequests(9);
  const failed = await eventually('all are settled', async () => {
    const all = await service.deliveries();
    return all.every(({ attempts: made }) => made.length === 1) ? all : undefined;
  });
  const waits = new Set(failed.map(({ nextAttempt }) => nextAttempt));
  assert.ok(waits.size >= 8, `${waits.size} different times`);
});

test('a receiver that comes back gets what it missed', async (t) => {
  const { service, clock, first } = await failOnce(t, failing);
  service.receiver.mode = { kind: 'ok' };
  clock.move(waitOf(first, clock));
  service.look();
  const delivery = await attempts(service, 2);
  assert.deepEqual([delivery.status, delivery.cause], ['delivered', '']);
});

test('the schedule of an endpoint is its own, and a change of it counts from the next attempt on', async (t) => {
  const { service, clock, first } = await failOnce(t, failing, { schedule: [100, 100] });
  assert.ok(waitOf(first, clock) >= 75_000);
  const { endpoint } = first;
  await service.call('PATCH', `/api/webhooks/endpoints/${endpoint}`, { body: { schedule: [1] } });
  clock.move(waitOf(first, clock));
  service.look();
  assert.equal((await attempts(service, 2)).status, 'exhausted');
});

const retryAfter: readonly (readonly [status: number, value: string, atLeastMs: number, atMostMs: number])[] =
  [
    [429, '120', 120_000, 120_000],
    [503, '120', 120_000, 120_000],
    [500, '120', 3_750, 6_251],
    [429, '999999', 3_600_000, 3_600_000],
    [429, '-5', 3_750, 6_251],
    [429, 'soon', 3_750, 6_251],
    [429, '1', 3_750, 6_251],
  ];

for (const [status, value, atLeastMs, atMostMs] of retryAfter) {
  test(`W-30 a ${status} with Retry-After ${value} is sent again after ${atLeastMs} ms or little more`, async (t) => {
    const mode = { kind: 'status', status, headers: { 'retry-after': value } } as const;
    const { clock, first } = await failOnce(t, mode);
    const wait = waitOf(first, clock);
    assert.ok(wait >= atLeastMs && wait <= atMostMs, `${wait} ms`);
  });
}

test('W-30 410 pauses the endpoint with that reason, and what waits for it is kept', async (t) => {
  const { service, clock, first } = await failOnce(t, { kind: 'status', status: 410 });
  const path = `/api/webhooks/endpoints/${first.endpoint}`;
  const paused = await eventually('the pause', async () => {
    const endpoint = await service.call('GET', path);
    return endpoint.status === 'paused' ? endpoint : undefined;
  });
  assert.equal(paused.statusReason, 'The receiver answered 410 Gone.');
  clock.move(3_600_000);
  service.look();
  await service.addPost();
  assert.deepEqual(
    (await service.deliveries()).map(({ status }) => status),
    ['pending', 'pending'],
  );
  assert.equal(service.receiver.requests.length, 1);
  service.receiver.mode = { kind: 'ok' };
  const resumed = await service.call('POST', `${path}/resume`, { body: { backlog: 'drain' } });
  assert.deepEqual([resumed.status, resumed.statusReason], ['active', '']);
  await service.receiver.waitForRequests(3);
});
