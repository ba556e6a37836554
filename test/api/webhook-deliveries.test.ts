// Both engines: deliveries are rows, listed by SQL.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { readDelivery, retryDelivery } from '../../src/deliveries/log/delivery-log.ts';
import { writeTest } from '../../src/dispatch/test-endpoint.ts';
import { eventually } from '../support/eventually.ts';
import { HeldSender, type SenderPort } from '../support/held-sender.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const failing = { kind: 'status', status: 500 } as const;

function move(service: WebhookService, to: string, status = 200): Promise<Json> {
  return service.call('POST', `/api/webhooks/deliveries/${to}`, { status });
}

test('W-36 a delivery shows its event and its attempts, with what the receiver answered', async (t) => {
  const clock = new MovableClock();
  const headers = { 'x-why': 'busy', 'content-type': 'text/html' };
  const mode = { kind: 'status', status: 500, headers, body: '<script>alert(1)</script>\xff' } as const;
  const service = await startWebhookService(t, { mode, parts: { clock } });
  const endpoint = await service.addEndpoint({ schedule: [] });
  const post = await service.addPost();
  const { id, event, attempts, ...shown } = await service.delivery(
    'the end',
    (one) => one.status === 'exhausted',
  );
  assert.equal(id, `${event}-${endpoint.id}`);
  assert.deepEqual(shown, {
    endpoint: endpoint.id,
    kind: 'record.create',
    collection: 'posts',
    record: post.id,
    status: 'exhausted',
    cause: 'The receiver answered with status 500.',
    nextAttempt: '',
    created: post.created,
    updated: post.created,
  });
  const full = await service.call('GET', `/api/webhooks/deliveries/${id}`);
  const { responseHeaders, responseBody, ...inList } = full.attempts[0];
  assert.deepEqual(attempts, [inList]);
  assert.equal(responseHeaders['x-why'], 'busy');
  // Given as JSON text, and never as a page.
  assert.equal(responseBody, '<script>alert(1)</script>ÿ');
  const { started, connectMs, firstByteMs, totalMs, ...attempt } = inList;
  assert.deepEqual(attempt, {
    number: 1,
    kind: 'status',
    status: 500,
    cause: shown.cause,
    dnsMs: null,
    tlsMs: null,
    batch: null,
  });
  assert.match(started, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok(connectMs > 0 && connectMs <= firstByteMs && firstByteMs <= totalMs, JSON.stringify(inList));
  const answer = await service.request(`/api/webhooks/deliveries/${id}`, { token: true });
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
});

test('W-57 a delivery shows no secret that its receiver sent back', async (t) => {
  const service = await startWebhookService(t, { mode: { kind: 'echo', status: 500 } });
  const headers = { authorization: 'Bearer of-a-planted-token', 'x-shop': 'berlin' };
  await service.addEndpoint({ schedule: [], headers });
  await service.addPost();
  const { id } = await service.delivery('the end', ({ status }) => status === 'exhausted');
  const { attempts } = await service.call('GET', `/api/webhooks/deliveries/${id}`);
  const [sent] = service.receiver.requests;
  const kept = JSON.stringify(attempts);
  for (const name of ['x-service-signature', 'webhook-signature', 'authorization'])
    assert.ok(!kept.includes(String(sent?.headers[name])), name);
  assert.ok(!kept.includes('of-a-planted-token'));
  const body = JSON.parse(attempts[0].responseBody);
  assert.deepEqual([body.authorization, body['x-shop']], ['********', 'berlin']);
});

test('deliveries are listed by filter, sort and page, the oldest first', async (t) => {
  const clock = new MovableClock();
  const service = await startWebhookService(t, { parts: { clock } });
  const a = await service.addEndpoint({ maxInFlight: 1 });
  const posts: Json[] = [];
  for (const title of ['one', 'two', 'three']) {
    posts.push(await service.addPost(title));
    clock.move(1_000);
  }
  const b = await service.addEndpoint({ events: ['record.delete'] });
  await service.call('DELETE', `/api/collections/posts/records/${posts[0].id}`, { status: 204 });
  await service.receiver.waitForRequests(5);
  const ids = posts.map(({ id }) => id);
  const list = async (query: string): Promise<string> => {
    const page = await service.call('GET', `/api/webhooks/deliveries?${query}`);
    return listOf(page.items)
      .map(({ record, kind }) => `${ids.indexOf(record)}${kind[7]}`)
      .join(' ');
  };
  const filtered = (filter: string): Promise<string> => list(`filter=${encodeURIComponent(filter)}`);
  assert.match(await list(''), /^0c 1c 2c 0d 0d$/);
  assert.match(await list('sort=-created'), /^0d 0d 2c 1c 0c$/);
  assert.equal(await list('perPage=2&page=2&sort=created,kind'), '2c 0d');
  assert.equal(await filtered(`record = '${ids[1]}'`), '1c');
  assert.equal(await filtered(`kind = 'record.delete' && endpoint = '${b.id}'`), '0d');
  assert.equal(await filtered(`endpoint = '${a.id}' && created > '2026-11-20 09:35:20.500Z'`), '1c 2c 0d');
  assert.equal(await filtered("status = 'exhausted' || collection != 'posts' || cause != ''"), '');
  await service.call('GET', '/api/webhooks/deliveries?filter=payload!=%27%27', { status: 400 });
  const page = await service.call('GET', '/api/webhooks/deliveries?perPage=1&fields=id');
  assert.deepEqual([page.totalItems, Object.keys(page.items[0])], [5, ['id']]);
});

test('an unknown delivery is not found, whatever is asked of it', async (t) => {
  const service = await startWebhookService(t);
  await service.call('GET', '/api/webhooks/deliveries/x', { status: 404 });
  await move(service, 'x/retry', 404);
  await move(service, 'x/cancel', 404);
});

test('a retry by hand sends what is exhausted, delivered or pending once more, at once', async (t) => {
  const clock = new MovableClock();
  const service = await startWebhookService(t, { mode: failing, parts: { clock } });
  await service.addEndpoint({ schedule: [3_600] });
  await service.addPost();
  const isAt = (count: number) => (delivery: Json) => delivery.attempts.length === count;
  const { id, status } = await service.delivery('a failure', isAt(1));
  assert.equal(status, 'pending');
  const moved = await move(service, `${id}/retry`);
  assert.deepEqual([moved.status, moved.cause], ['pending', '']);
  assert.equal((await service.delivery('the retry of what was pending', isAt(2))).status, 'exhausted');
  await move(service, `${id}/retry`);
  assert.equal((await service.delivery('the retry of what was exhausted', isAt(3))).status, 'exhausted');
  service.receiver.mode = { kind: 'ok' };
  await move(service, `${id}/retry`);
  assert.equal((await service.delivery('a success', isAt(4))).status, 'delivered');
  await move(service, `${id}/retry`);
  const { attempts } = await service.delivery('the retry of what was delivered', isAt(5));
  assert.deepEqual(
    listOf(attempts).map(({ number }) => number),
    [1, 2, 3, 4, 5],
  );
});

test('a cancelled delivery is not sent, says so, and can be retried; one that is over cannot be cancelled', async (t) => {
  const clock = new MovableClock();
  const service = await startWebhookService(t, { mode: failing, parts: { clock } });
  await service.addEndpoint();
  await service.addPost();
  const { id } = await service.delivery('a failure', ({ attempts }) => attempts.length === 1);
  const cancelled = await move(service, `${id}/cancel`);
  assert.deepEqual(
    [cancelled.status, cancelled.cause, cancelled.nextAttempt],
    ['cancelled', 'Cancelled by hand.', ''],
  );
  assert.equal((await move(service, `${id}/cancel`, 409)).message, 'The delivery is cancelled.');
  clock.move(3_600_000);
  service.look();
  service.receiver.mode = { kind: 'ok' };
  await service.addEndpoint({ events: ['record.delete'] });
  await move(service, `${id}/retry`);
  await service.delivery('the retry', ({ status }) => status === 'delivered');
  assert.equal(service.receiver.requests.length, 2);
  assert.equal((await move(service, `${id}/cancel`, 409)).message, 'The delivery is delivered.');
});

interface Held {
  readonly service: WebhookService;
  /** Of the delivery whose attempt is in flight. */
  readonly id: string;
  /** Lets its receiver answer. */
  readonly release: () => void;
}

async function startHeld(t: TestContext): Promise<Held> {
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  const service = await startWebhookService(t, { mode: { kind: 'held', until } });
  await service.addEndpoint();
  await service.addPost();
  await service.receiver.waitForRequests(1);
  const [{ id }] = await service.deliveries();
  return { service, id, release };
}

test('an attempt in flight when its delivery is cancelled is told, counted, and followed by number 2', async (t) => {
  const { service, id, release } = await startHeld(t);
  await move(service, `${id}/cancel`);
  release();
  const { status } = await service.delivery('the attempt', ({ attempts }) => attempts.length === 1);
  assert.equal(status, 'cancelled');
  await move(service, `${id}/retry`);
  const { attempts } = await service.delivery('the retry', (delivery) => delivery.status === 'delivered');
  assert.deepEqual(
    listOf(attempts).map(({ number }) => number),
    [1, 2],
  );
  assert.equal(service.receiver.requests[1]?.headers['x-service-attempt'], '2');
});

const asked: readonly (readonly [what: string, schedule: readonly number[], moves: readonly string[]])[] = [
  ['a retry by hand', [600], ['retry']],
  ['a retry by hand, the last of its schedule', [], ['retry']],
  ['a cancellation and then a retry by hand', [600], ['cancel', 'retry']],
  ['several retries by hand', [600], ['retry', 'retry', 'retry']],
];

for (const [what, schedule, moves] of asked) {
  test(`an attempt that fails after ${what} is followed by the next one at once, and only by that`, async (t) => {
    const { promise: until, resolve: release } = Promise.withResolvers<void>();
    const mode = { kind: 'held', until, status: 500 } as const;
    // It stands still: whatever happens, happens in the millisecond in which the event was written.
    const clock = new MovableClock();
    const service = await startWebhookService(t, { mode, parts: { clock } });
    await service.addEndpoint({ schedule });
    await service.addPost();
    await service.receiver.waitForRequests(1);
    const [{ id }] = await service.deliveries();
    for (const one of moves) await move(service, `${id}/${one}`);
    service.receiver.mode = failing;
    release();
    const { status, attempts } = await service.delivery(
      'nothing is due',
      (one) => one.status !== 'pending' || Date.parse(one.nextAttempt) > clock.now(),
    );
    assert.equal(status, 'exhausted');
    assert.deepEqual(
      listOf(attempts).map(({ number, status: answered }) => [number, answered]),
      [
        [1, 500],
        [2, 500],
      ],
    );
    assert.equal(service.receiver.requests.length, 2);
  });
}

test('a retry by hand in the millisecond in which the delivery became due is made as well', async (t) => {
  let sender = new HeldSender();
  const wrapSender = (real: SenderPort): SenderPort => (sender = new HeldSender(real));
  const clock = new MovableClock();
  const service = await startWebhookService(t, { parts: { clock, wrapSender } });
  await service.addEndpoint({ schedule: [600] });
  await service.addPost();
  await eventually('the first attempt', () => sender.given.length === 1);
  const [{ id }] = await service.deliveries();
  for (const attempt of [2, 3]) {
    await move(service, `${id}/retry`);
    sender.fail(sender.given.slice(-1));
    await eventually(`attempt ${attempt}`, () => sender.given.length === attempt);
  }
  sender.succeed(sender.given.slice(-1));
  const { attempts } = await service.delivery('the end', ({ status }) => status === 'delivered');
  assert.equal(attempts.length, 3);
});

test('an attempt that succeeds after a retry by hand has delivered what was asked for', async (t) => {
  const { service, id, release } = await startHeld(t);
  await move(service, `${id}/retry`);
  release();
  const { attempts } = await service.delivery('the end', ({ status }) => status === 'delivered');
  assert.equal(attempts.length, 1);
  assert.equal(service.receiver.requests.length, 1);
});

test('what waits for an endpoint that is deleted is cancelled, and no retry brings it back', async (t) => {
  const clock = new MovableClock();
  const service = await startWebhookService(t, { mode: failing, parts: { clock } });
  const endpoint = await service.addEndpoint();
  await service.addPost();
  const { id } = await service.delivery('a failure', ({ attempts }) => attempts.length === 1);
  clock.move(1_000);
  await service.call('DELETE', `/api/webhooks/endpoints/${endpoint.id}`, { status: 204 });
  const { status, cause, updated } = await service.call('GET', `/api/webhooks/deliveries/${id}`);
  assert.deepEqual([status, cause], ['cancelled', 'The endpoint was deleted.']);
  assert.equal(updated, '2026-11-20 09:35:21.114Z');
  const refused = await move(service, `${id}/retry`, 409);
  assert.equal(refused.message, 'The endpoint of the delivery was deleted.');
});

test('a test sends a signed ping now and answers with its attempt, paused or not', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.addEndpoint();
  const path = `/api/webhooks/endpoints/${id}`;
  for (const isPaused of [false, true]) {
    if (isPaused) await service.call('POST', `${path}/pause`, { body: {} });
    const delivery = await service.call('POST', `${path}/test`, { body: isPaused ? {} : { event: 'ping' } });
    assert.deepEqual([delivery.kind, delivery.status, delivery.attempts.length], ['ping', 'delivered', 1]);
    assert.deepEqual([delivery.attempts[0].status, delivery.attempts[0].responseBody], [200, 'ok']);
  }
  const [request] = service.receiver.requests;
  const body = JSON.parse(request?.body.toString() ?? '');
  assert.deepEqual([body.event, body.collection, body.data], ['ping', '', {}]);
  assert.equal(request?.headers['x-service-event'], 'ping');
});

test('an endpoint is not resumed with a backlog that there is not', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.addEndpoint();
  const backlog = { body: { backlog: 'oldest-first' }, status: 400 };
  await service.call('POST', `/api/webhooks/endpoints/${id}/resume`, backlog);
});

test('a test that fails says why and is never tried again', async (t) => {
  const clock = new MovableClock();
  const service = await startWebhookService(t, { mode: failing, parts: { clock } });
  const { id } = await service.addEndpoint();
  const delivery = await service.call('POST', `/api/webhooks/endpoints/${id}/test`, { body: {} });
  assert.deepEqual([delivery.status, delivery.attempts[0].status], ['exhausted', 500]);
  assert.equal(delivery.cause, 'The receiver answered with status 500.');
  clock.move(3_600_000);
  service.look();
  await service.signIn();
  assert.equal(service.receiver.requests.length, 1);
});

test('a test is not tried again by hand while it may be on its way, and is when it is over', async (t) => {
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  const service = await startWebhookService(t, { mode: { kind: 'held', until, status: 500 } });
  const { id: endpoint } = await service.addEndpoint();
  const testing = service.call('POST', `/api/webhooks/endpoints/${endpoint}/test`, { body: {} });
  await service.receiver.waitForRequests(1);
  const [{ id }] = await service.deliveries();
  assert.equal((await move(service, `${id}/retry`, 409)).message, 'The delivery is pending.');
  await move(service, `${id}/cancel`);
  assert.equal((await move(service, `${id}/retry`, 409)).message, 'The delivery is cancelled.');
  release();
  const { status, attempts } = await testing;
  assert.deepEqual([status, attempts.length], ['cancelled', 1]);
  service.receiver.mode = { kind: 'ok' };
  await move(service, `${id}/retry`);
  await service.delivery('the retry', (delivery) => delivery.status === 'delivered');
  assert.equal(service.receiver.requests[1]?.headers['x-service-attempt'], '2');
});

test('a test that an earlier process left behind is tried once by the dispatcher and then over', async (t) => {
  const clock = new MovableClock();
  const service = await startWebhookService(t, { mode: failing, parts: { clock } });
  const { id } = await service.addEndpoint();
  const { id: delivery } = await service.call('POST', `/api/webhooks/endpoints/${id}/test`, { body: {} });
  // As the dead process would have left it: written, handed over, never settled.
  await service.withInstance('default', ({ database }) =>
    database.write((tx) =>
      tx.run(
        sql`UPDATE ${database.names.table('$outcome')} SET status = 'pending', attempts = 0, due = ${clock.now() + 120_000}`,
      ),
    ),
  );
  clock.move(120_000);
  service.look();
  await eventually('the end', async () => {
    const { status } = await service.call('GET', `/api/webhooks/deliveries/${delivery}`);
    return service.receiver.requests.length === 2 && status === 'exhausted';
  });
});

test('a retry by hand and a test are due by the clock of the deliveries, whatever that of the node says', async (t) => {
  const clock = new MovableClock();
  const service = await startWebhookService(t, { mode: failing, parts: { clock } });
  const { id: endpoint } = await service.addEndpoint({ schedule: [3_600] });
  await service.addPost();
  const { id } = await service.delivery('a failure', ({ attempts }) => attempts.length === 1);
  for (const aheadMs of [600_000, -600_000]) {
    const off = new MovableClock(clock.now() + aheadMs);
    const dues = await service.withInstance('default', async (instance) => {
      const { number } = await instance.endpoints.get(instance.database, endpoint);
      const { nextAttempt } = await retryDelivery({ ...instance, clock: off }, id);
      const test = await instance.database.write((tx) => writeTest(tx, { ...instance, clock: off }, number));
      const left = await readDelivery(instance.database, test);
      return [Date.parse(nextAttempt), Date.parse(left.nextAttempt) - 120_000];
    });
    for (const due of dues) assert.ok(Math.abs(due - clock.now()) < 1_000, `${due - clock.now()} ms`);
  }
});

test('no secret stands in the log of the service or of the deliveries', async (t) => {
  const service = await startWebhookService(t, { mode: failing });
  const canaries = ['canary-secret-0001', 'canary-header-0002'];
  const headers = { authorization: canaries[1] };
  const { id } = await service.addEndpoint({ secret: canaries[0], headers, schedule: [] });
  await service.addPost();
  await service.delivery('the end', ({ status }) => status === 'exhausted');
  await service.call('POST', `/api/webhooks/endpoints/${id}/test`, { body: {} });
  const rows = await service.withInstance('default', async ({ database }) => [
    await database.all(sql`SELECT * FROM ${database.names.table('$outcome')}`),
    await database.all(sql`SELECT * FROM ${database.names.table('$attempt')}`),
    await database.all(sql`SELECT CAST(body AS TEXT) AS body FROM ${database.names.table('$event')}`),
  ]);
  const told = JSON.stringify([rows, service.log, await service.deliveries()]);
  for (const canary of canaries) assert.ok(!told.includes(canary), canary);
});
