// Both engines: migrations are SQL of each.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { toTimestamp } from '../../src/base/timestamp.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { Receiver } from '../support/receiver.ts';
import {
  type DeliveryBefore,
  type LaneBefore,
  takeBackDeliveryLog,
} from '../support/take-back-delivery-log.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

interface Stage {
  readonly clock: MovableClock;
  readonly before: WebhookService;
  /** Events of as many records, the oldest first: nobody was told of them. */
  readonly events: readonly Json[];
  /** Brings a service up over the data as an earlier version would have left it. */
  readonly upgrade: (left: Left) => Promise<WebhookService>;
}

interface Left {
  readonly deliveries: readonly Omit<DeliveryBefore, 'created' | 'updated'>[];
  readonly lanes?: readonly LaneBefore[];
}

async function prepare(t: TestContext, count: number): Promise<Stage> {
  const clock = new MovableClock();
  const before = await startWebhookService(t, { parts: { clock } });
  for (let number = 1; number <= count; number += 1) await before.addPost(`post ${number}`);
  const { items } = await before.call('GET', '/api/webhooks/events?perPage=100&sort=created');
  assert.equal(items.length, count);
  const upgrade = async ({ deliveries, lanes = [] }: Left): Promise<WebhookService> => {
    await before.stop();
    const times = { created: toTimestamp(clock.now()), updated: toTimestamp(clock.now() + 1) };
    await takeBackDeliveryLog(before.data, {
      deliveries: deliveries.map((delivery) => ({ ...delivery, ...times })),
      lanes,
    });
    return startWebhookService(t, { data: before.data, parts: { clock } });
  };
  return { clock, before, events: items, upgrade };
}

/** What was sent to a receiver: the id of each delivery with the number of its attempt. */
function sentTo(receiver: Receiver): readonly string[] {
  return receiver.requests
    .map(({ headers }) => [headers['x-service-delivery'], headers['x-service-attempt']].join(' '))
    .toSorted();
}

function shown({ id, status, cause, attempts }: Json): readonly unknown[] {
  return [id, status, cause, attempts.length];
}

const failed = 'The receiver answered with status 500.';

test('what an earlier version has left of deliveries is listed as it was, and what it left to be sent is sent once', async (t) => {
  const { clock, before, events, upgrade } = await prepare(t, 6);
  const { receiver } = before;
  const [e1, e2, e3, e4, e5, e6] = events.map(({ id }) => String(id));
  assert.ok(e1 && e2 && e3 && e4 && e5 && e6);
  const { id: endpoint } = await before.addEndpoint({ schedule: [60, 60, 60] });
  const now = clock.now();
  const after = await upgrade({
    deliveries: [
      { event: e1, endpoint, status: 'pending', due: now },
      { event: e2, endpoint, status: 'pending', attempts: 2, due: now + 60_000, cause: failed },
      { event: e3, endpoint, status: 'delivered', attempts: 2, due: now },
      { event: e4, endpoint, status: 'exhausted', attempts: 3, due: now, cause: failed },
      { event: e5, endpoint, status: 'cancelled', attempts: 1, due: now, cause: 'Cancelled by hand.' },
      { event: e6, endpoint, status: 'pending', attempts: 1, due: now + 30_000, putOffUntil: now + 30_000 },
    ],
  });
  const list = async (): Promise<readonly unknown[]> => (await after.deliveries()).map(shown);
  const isOver = async (id: string): Promise<boolean> =>
    (await after.call('GET', `/api/webhooks/deliveries/${id}`)).status === 'delivered';
  const id = (event: string): string => `${event}-${endpoint}`;
  await eventually('the one that was due', () => isOver(id(e1)));
  assert.deepEqual(await list(), [
    [id(e1), 'delivered', '', 1],
    [id(e2), 'pending', failed, 2],
    [id(e3), 'delivered', '', 2],
    [id(e4), 'exhausted', failed, 3],
    [id(e5), 'cancelled', 'Cancelled by hand.', 1],
    [id(e6), 'pending', '', 1],
  ]);
  const { nextAttempt, created, updated, attempts } = await after.call(
    'GET',
    `/api/webhooks/deliveries/${id(e2)}`,
  );
  assert.deepEqual(
    [nextAttempt, created, updated],
    [now + 60_000, now, now + 1].map((time) => toTimestamp(time)),
  );
  const answers = listOf(attempts).map((one) => {
    const { number, status, connectMs, totalMs, responseHeaders, responseBody } = one;
    return [number, status, connectMs, totalMs, responseHeaders['x-was'], responseBody];
  });
  assert.deepEqual(answers, [
    [1, 500, 1, 2, 'before', `answer 1 of ${id(e2)}`],
    [2, 500, 2, 3, 'before', `answer 2 of ${id(e2)}`],
  ]);
  const exhausted = await after.deliveries("status = 'exhausted'");
  assert.deepEqual(
    exhausted.map((one) => one.id),
    [id(e4)],
  );
  assert.deepEqual(sentTo(receiver), [`${id(e1)} 1`]);

  clock.move(61_000);
  after.look();
  for (const event of [e2, e6]) await eventually('one that was not due yet', () => isOver(id(event)));
  const post = await after.addPost('after');
  const sent = [`${id(e1)} 1`, `${id(e2)} 3`, `${id(e6)} 2`];
  await receiver.waitForRequests(4);
  const [last] = await after.deliveries(`record = '${post.id}'`);
  await eventually('the new one', () => isOver(last.id));
  assert.deepEqual(sentTo(receiver), [...sent, `${last.id} 1`].toSorted());
  await after.call('POST', `/api/webhooks/deliveries/${id(e4)}/retry`);
  await eventually('the one that was exhausted', () => isOver(id(e4)));
  await after.stop();

  const again = await startWebhookService(t, { data: before.data, parts: { clock } });
  await again.addPost('last');
  await receiver.waitForRequests(6);
  assert.deepEqual(
    sentTo(receiver).filter((one) => events.some((event) => one.startsWith(event.id))),
    [...sent, `${id(e4)} 4`].toSorted(),
  );
  assert.equal(receiver.requests.length, 6);
});

test('an endpoint that an earlier version has left alone for a time is left alone until then, and then sent all that waits', async (t) => {
  const { clock, before, events, upgrade } = await prepare(t, 2);
  const { receiver } = before;
  const [e1, e2] = events.map(({ id }) => String(id));
  assert.ok(e1 && e2);
  const { id: endpoint } = await before.addEndpoint();
  const now = clock.now();
  const wide = { event: e1, endpoint, status: 'pending', attempts: 5, isWide: true, cause: failed } as const;
  const after = await upgrade({
    deliveries: [
      { ...wide, due: now + 3_600_000 },
      { event: e2, endpoint, status: 'pending', due: now },
    ],
    lanes: [{ endpoint, state: 'open', since: now - 60_000, probeAt: now + 60_000, cause: failed }],
  });
  // Whatever could be sent to others is sent.
  await using other = await Receiver.open();
  await after.addEndpoint({ url: other.url });
  await after.addPost('for others');
  await other.waitForRequests(1);
  assert.deepEqual(sentTo(receiver), []);
  clock.move(61_000);
  after.look();
  await receiver.waitForRequests(3);
  await eventually('all is over', async () => (await after.deliveries("status = 'pending'")).length === 0);
  const [third] = await after.deliveries(`endpoint = '${endpoint}' && event != '${e1}' && event != '${e2}'`);
  const sent = [`${e1}-${endpoint} 6`, `${e2}-${endpoint} 1`, `${third.id} 1`];
  assert.deepEqual(sentTo(receiver), sent.toSorted());
});

test('what an earlier version has left of an endpoint that was deleted is listed, and nothing of it is sent', async (t) => {
  const { clock, events, upgrade } = await prepare(t, 3);
  const [e1, e2, e3] = events.map(({ id }) => String(id));
  assert.ok(e1 && e2 && e3);
  const endpoint = 'deletedendpoint';
  const deletion = 'The endpoint was deleted.';
  const after = await upgrade({
    deliveries: [
      { event: e1, endpoint, status: 'delivered', attempts: 1 },
      { event: e2, endpoint, status: 'cancelled', cause: deletion },
      { event: e3, endpoint, status: 'pending', attempts: 1, due: clock.now() },
    ],
  });
  await after.addEndpoint();
  const { id } = await after.addPost();
  await after.receiver.waitForRequests(1);
  assert.deepEqual((await after.deliveries(`endpoint = '${endpoint}'`)).map(shown), [
    [`${e1}-${endpoint}`, 'delivered', '', 1],
    [`${e2}-${endpoint}`, 'cancelled', deletion, 0],
    [`${e3}-${endpoint}`, 'cancelled', deletion, 1],
  ]);
  const refused = await after.call('POST', `/api/webhooks/deliveries/${e3}-${endpoint}/retry`, {
    status: 409,
  });
  assert.equal(refused.message, 'The endpoint of the delivery was deleted.');
  const endpoints = await after.call('GET', '/api/webhooks/endpoints');
  assert.equal(endpoints.items.length, 1);
  const [only] = await after.deliveries(`record = '${id}'`);
  assert.deepEqual(sentTo(after.receiver), [`${only.id} 1`]);
});

test('with the order of records, a change waits for one before it that an earlier version has left', async (t) => {
  const { before, clock, events, upgrade } = await prepare(t, 1);
  const { receiver } = before;
  const [first] = events;
  const { id: endpoint } = await before.addEndpoint();
  const after = await upgrade({
    deliveries: [
      { event: first.id, endpoint, status: 'pending', attempts: 1, due: clock.now() + 60_000, cause: failed },
    ],
  });
  await after.call('PATCH', `/api/webhooks/endpoints/${endpoint}`, { body: { order: 'record' } });
  const body = { title: 'changed' };
  await after.call('PATCH', `/api/collections/posts/records/${first.record}`, { body });
  await after.addPost('another record');
  await receiver.waitForRequests(1);
  clock.move(61_000);
  after.look();
  await receiver.waitForRequests(3);
  assert.deepEqual(
    receiver.requests.map(({ body: bytes }) => JSON.parse(bytes.toString()).data.title),
    ['another record', 'post 1', 'changed'],
  );
});
