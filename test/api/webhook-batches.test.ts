// Both engines: batches are stored, and their members found by SQL of each.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { add, openAccountStage } from '../support/account-stage.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import type { ReceivedRequest, ReceiverMode } from '../support/receiver.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const failing = { kind: 'status', status: 500 } as const;
const members = ['event', 'timestamp', 'instance_id', 'collection', 'data'];

interface Timed {
  readonly service: WebhookService;
  readonly clock: MovableClock;
}

/** A service whose clock stands still. */
async function start(t: TestContext, mode: ReceiverMode = { kind: 'ok' }): Promise<Timed> {
  const clock = new MovableClock();
  return { clock, service: await startWebhookService(t, { mode, parts: { clock } }) };
}

/** Creates posts at one moment of an endpoint that is resumed only then, so that all of them are there at once. */
async function addPosts(service: WebhookService, { id }: Json, titles: readonly string[]): Promise<void> {
  await service.call('POST', `/api/webhooks/endpoints/${id}/pause`);
  for (const title of titles) await service.addPost(title);
  await service.call('POST', `/api/webhooks/endpoints/${id}/resume`, { body: { backlog: 'drain' } });
}

function titlesOf({ body }: ReceivedRequest): readonly string[] {
  return listOf(JSON.parse(body.toString())).map(({ data }) => data.title);
}

function idOf(request: ReceivedRequest | undefined): string {
  return String(request?.headers['webhook-id']);
}

function letters(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `post ${at}`);
}

/** Waits until every delivery satisfies a condition, and returns them. */
function deliveriesOnce(
  service: WebhookService,
  what: string,
  check: (delivery: Json) => boolean,
): Promise<readonly Json[]> {
  return eventually(what, async () => {
    const all = await service.deliveries();
    return all.length > 0 && all.every(check) ? all : undefined;
  });
}

test('a batch is an array of the bodies of single requests under one signature, and a full one waits for nothing', async (t) => {
  const { service } = await start(t);
  const endpoint = await service.addEndpoint({ batch: { max: 3, waitMs: 60_000 } });
  await addPosts(service, endpoint, ['a', 'b', 'c']);
  const [request] = await service.receiver.waitForRequests(1);
  assert.ok(request);
  const { headers, body } = request;
  const { secret } = await service.call('GET', `/api/webhooks/endpoints/${endpoint.id}/secret`);
  new Webhook(secret).verify(body.toString(), {
    'webhook-id': String(headers['webhook-id']),
    'webhook-timestamp': String(headers['webhook-timestamp']),
    'webhook-signature': String(headers['webhook-signature']),
  });
  const events = listOf(JSON.parse(body.toString()));
  assert.deepEqual(
    events.map((event) => [Object.keys(event), event.event, event.data.title]),
    ['a', 'b', 'c'].map((title) => [members, 'record.create', title]),
  );
  const deliveries = await deliveriesOnce(service, 'delivered', ({ status }) => status === 'delivered');
  const told = [
    'content-type',
    'x-service-batch',
    'x-service-sequence',
    'x-service-attempt',
    'x-service-event',
  ];
  assert.deepEqual(
    told.map((name) => headers[name]),
    ['application/json', '3', '1,1,1', '1', undefined],
  );
  const ids = String(headers['x-service-events']).split(',');
  assert.deepEqual(new Set(ids), new Set(deliveries.map(({ event }) => event)));
  for (const { attempts } of deliveries) assert.deepEqual(attempts[0].batch, { id: idOf(request), size: 3 });
});

test('what is fewer than a batch waits until the oldest has waited, and not longer', async (t) => {
  const { service, clock } = await start(t);
  await service.addEndpoint({ batch: { max: 10, waitMs: 5_000 } });
  await service.addPost('a');
  clock.move(3_000);
  await service.addPost('b');
  service.look();
  clock.move(1_999);
  service.look();
  assert.equal((await service.deliveries()).length, 2);
  assert.equal(service.receiver.requests.length, 0);
  clock.move(1);
  service.look();
  const [request] = await service.receiver.waitForRequests(1);
  assert.ok(request);
  assert.deepEqual(titlesOf(request), ['a', 'b']);
});

test('more than a batch makes several, in order, and each event is in one', async (t) => {
  const { service } = await start(t);
  const endpoint = await service.addEndpoint({ batch: { max: 10, waitMs: 0 }, order: 'strict' });
  await addPosts(service, endpoint, letters(25));
  await deliveriesOnce(service, 'all are delivered', ({ status }) => status === 'delivered');
  const { requests } = service.receiver;
  assert.deepEqual(requests.flatMap(titlesOf), letters(25));
  // A strict order sends no event before it is safe that none comes before it: so a batch may have fewer.
  assert.ok(requests.length >= 3 && requests.every((request) => titlesOf(request).length <= 10));
  assert.equal(new Set(requests.map(idOf)).size, requests.length);
});

test('a batch that fails is sent again by the schedule with its id and bytes, and exhausts all of its deliveries', async (t) => {
  const { service, clock } = await start(t, failing);
  const endpoint = await service.addEndpoint({ batch: { max: 10, waitMs: 0 }, schedule: [60] });
  await addPosts(service, endpoint, ['a', 'b', 'c']);
  const failed = await deliveriesOnce(service, 'a failure', ({ attempts }) => attempts.length === 1);
  assert.equal(new Set(failed.map(({ nextAttempt }) => nextAttempt)).size, 1);
  assert.ok(failed.every(({ status }) => status === 'pending'));
  // What comes meanwhile is another batch.
  await service.addPost('d');
  await deliveriesOnce(service, 'its failure', ({ attempts }) => attempts.length === 1);
  clock.move(75_001);
  service.look();
  const requests = await service.receiver.waitForRequests(4);
  const [first, ...rest] = requests;
  const again = rest.filter((request) => idOf(request) === idOf(first));
  assert.equal(again.length, 1);
  assert.deepEqual(again[0]?.body, first?.body);
  assert.equal(again[0]?.headers['x-service-attempt'], '2');
  const ended = await deliveriesOnce(service, 'the end', ({ status }) => status === 'exhausted');
  assert.deepEqual(
    ended.map(({ attempts }) => attempts.length),
    [2, 2, 2, 2],
  );
});

test('a member that is cancelled is not sent again, and the others are another batch', async (t) => {
  const { service, clock } = await start(t, failing);
  const endpoint = await service.addEndpoint({ batch: { max: 10, waitMs: 0 }, schedule: [60, 60] });
  await addPosts(service, endpoint, ['a', 'b', 'c']);
  const [a] = await deliveriesOnce(service, 'a failure', ({ attempts }) => attempts.length === 1);
  await service.call('POST', `/api/webhooks/deliveries/${a.id}/cancel`);
  clock.move(75_001);
  service.receiver.mode = { kind: 'ok' };
  service.look();
  const [first, second] = await service.receiver.waitForRequests(2);
  assert.ok(first && second);
  assert.equal(titlesOf(second).length, 2);
  assert.notEqual(idOf(first), idOf(second));
  await eventually('both are delivered', async () => {
    const count = async (status: string): Promise<number> =>
      (await service.deliveries(`status = '${status}'`)).length;
    return (await count('delivered')) === 2 && (await count('cancelled')) === 1;
  });
});

test('a retry by hand sends a delivery that is over in a batch of its own, and brings forward the batch of a pending one', async (t) => {
  const { service, clock } = await start(t, failing);
  const endpoint = await service.addEndpoint({ batch: { max: 10, waitMs: 60_000 }, schedule: [600] });
  await addPosts(service, endpoint, ['a', 'b']);
  clock.move(60_000);
  service.look();
  const [one] = await deliveriesOnce(service, 'a failure', ({ attempts }) => attempts.length === 1);
  await service.call('POST', `/api/webhooks/deliveries/${one.id}/retry`);
  const [first, second] = await service.receiver.waitForRequests(2);
  assert.deepEqual([idOf(second), second?.body], [idOf(first), first?.body]);
  await deliveriesOnce(service, 'the end', ({ status }) => status === 'exhausted');
  service.receiver.mode = { kind: 'ok' };
  await service.call('POST', `/api/webhooks/deliveries/${one.id}/retry`);
  const [, , third] = await service.receiver.waitForRequests(3);
  assert.deepEqual([third?.headers['x-service-batch'], idOf(third) === idOf(first)], ['1', false]);
  await eventually(
    'it is delivered',
    async () => (await service.deliveries(`status = 'delivered'`)).length === 1,
  );
});

test('a batch is no larger than the largest body of an event, and a larger event is sent alone', async (t) => {
  const { service } = await start(t);
  const endpoint = await service.addEndpoint({ batch: { max: 100, waitMs: 0 }, order: 'strict' });
  const path = `/api/webhooks/endpoints/${endpoint.id}`;
  await service.call('POST', `${path}/pause`);
  for (const [rank, length] of [100_000, 100_000, 100_000, 300_000, 10].entries())
    await service.call('POST', '/api/collections/posts/records', {
      body: { rank, extra: 'x'.repeat(length) },
    });
  await service.call('POST', `${path}/resume`, { body: { backlog: 'drain' } });
  const requests = await service.receiver.waitForRequests(2);
  const sent = requests.map(({ body }) => listOf(JSON.parse(body.toString())));
  assert.deepEqual(
    sent.map((events) => events.map(({ data }) => data.rank)),
    [
      [0, 1],
      [2, undefined, 4],
    ],
  );
  assert.ok(requests.every(({ body }) => body.length <= 256 * 1_024));
  assert.equal(requests[1]?.headers['x-service-truncated'], ',data,');
});

test('with the payload previous, which makes bodies larger than they are stored, a batch keeps to the limit', async (t) => {
  const { service } = await start(t);
  const ids: string[] = [];
  for (const title of ['a', 'b', 'c', 'd', 'e']) ids.push((await service.addPost(title)).id);
  const endpoint = await service.addEndpoint({
    batch: { max: 100, waitMs: 0 },
    payload: 'previous',
    order: 'strict',
    events: ['record.update'],
  });
  const path = `/api/webhooks/endpoints/${endpoint.id}`;
  for (const letter of ['x', 'y']) {
    await service.call('POST', `${path}/pause`);
    const body = { extra: letter.repeat(50_000) };
    for (const id of ids) await service.call('PATCH', `/api/collections/posts/records/${id}`, { body });
    await service.call('POST', `${path}/resume`, { body: { backlog: 'drain' } });
    await deliveriesOnce(service, 'all are delivered', ({ status }) => status === 'delivered');
  }
  const { requests } = service.receiver;
  assert.ok(requests.every(({ body }) => body.length <= 256 * 1_024));
  const events = requests.flatMap(({ body }) => listOf(JSON.parse(body.toString())));
  assert.deepEqual(
    events.map(({ data }) => data.id),
    [...ids, ...ids],
  );
  assert.ok(requests.length >= 4);
});

test('with the order record, no batch has two changes of a record, and they come in order', async (t) => {
  const { service } = await start(t);
  const endpoint = await service.addEndpoint({ batch: { max: 100, waitMs: 0 }, order: 'record' });
  const path = `/api/webhooks/endpoints/${endpoint.id}`;
  await service.call('POST', `${path}/pause`);
  const posts = [await service.addPost('a 1'), await service.addPost('b 1')];
  for (const number of [2, 3])
    for (const [at, { id }] of posts.entries())
      await service.call('PATCH', `/api/collections/posts/records/${id}`, {
        body: { title: `${at === 0 ? 'a' : 'b'} ${number}` },
      });
  await service.call('POST', `${path}/resume`, { body: { backlog: 'drain' } });
  await deliveriesOnce(service, 'all are delivered', ({ status }) => status === 'delivered');
  const sent = service.receiver.requests.map(titlesOf);
  for (const letter of ['a', 'b'])
    assert.deepEqual(
      sent.flat().filter((title) => title.startsWith(letter)),
      [1, 2, 3].map((number) => `${letter} ${number}`),
    );
  assert.ok(sent.every((titles) => new Set(titles.map((title) => title[0])).size === titles.length));
});

test('CloudEvents are sent in their batched mode, and a test is a batch of one', async (t) => {
  const { service } = await start(t);
  const endpoint = await service.addEndpoint({
    batch: { max: 2, waitMs: 0 },
    cloudEvents: true,
    ed25519: true,
  });
  await addPosts(service, endpoint, ['a', 'b']);
  const [request] = await service.receiver.waitForRequests(1);
  const events = listOf(JSON.parse(String(request?.body)));
  const { headers = {} } = request ?? {};
  assert.equal(headers['content-type'], 'application/cloudevents-batch+json');
  assert.deepEqual(events.map(({ id }) => id).join(), headers['x-service-events']);
  assert.deepEqual(
    events.map(({ specversion, type, datacontenttype, data }) => [
      specversion,
      type,
      datacontenttype,
      data.data.title,
    ]),
    ['a', 'b'].map((title) => ['1.0', 'record.create', 'application/json', title]),
  );
  assert.equal(headers['ce-id'], undefined);
  assert.match(String(headers['webhook-signature']), /^v1,\S+ v1a,\S+$/);
  await service.call('POST', `/api/webhooks/endpoints/${endpoint.id}/test`, { body: {} });
  const [, ping] = await service.receiver.waitForRequests(2);
  assert.deepEqual(
    listOf(JSON.parse(String(ping?.body))).map(({ type }) => type),
    ['ping'],
  );
  assert.equal(ping?.headers['x-service-batch'], '1');
});

test('a batch is the same after a restart during its first attempt, and between two attempts', async (t) => {
  const clock = new MovableClock();
  const flags = { 'stop-timeout': '1' };
  const before = await startWebhookService(t, { mode: { kind: 'never answers' }, parts: { clock }, flags });
  const endpoint = await before.addEndpoint({ batch: { max: 10, waitMs: 0 }, schedule: [60, 60] });
  await addPosts(before, endpoint, ['a', 'b', 'c']);
  await before.receiver.waitForRequests(1);
  await before.stop();
  before.receiver.mode = failing;
  const second = await startWebhookService(t, { data: before.data, parts: { clock }, flags });
  await deliveriesOnce(second, 'a failure', ({ attempts }) => attempts.length === 1);
  await second.stop();
  clock.move(75_001);
  before.receiver.mode = { kind: 'ok' };
  const third = await startWebhookService(t, { data: before.data, parts: { clock } });
  await deliveriesOnce(third, 'delivered', ({ status }) => status === 'delivered');
  const { requests } = before.receiver;
  assert.deepEqual(requests.map(idOf), Array(3).fill(idOf(requests[0])));
  assert.ok(requests.every(({ body }) => body.equals(requests[0]?.body ?? Buffer.of())));
});

test('the option batch is checked, and what waits is sent one by one once it is off', async (t) => {
  const { service } = await start(t);
  const wrong = [
    {},
    { max: 0, waitMs: 0 },
    { max: 101, waitMs: 0 },
    { max: 1.5, waitMs: 0 },
    { max: 1 },
    [],
    5,
  ];
  for (const batch of [...wrong, { max: 1, waitMs: 60_001 }, { max: 1, waitMs: 0, bytes: 1 }]) {
    const body = { url: service.receiver.url, batch };
    const { data } = await service.call('POST', '/api/webhooks/endpoints', { body, status: 400 });
    assert.equal(data.batch.code, 'validation_invalid_value');
  }
  const { id, batch } = await service.addEndpoint({ batch: { max: 100, waitMs: 60_000 } });
  assert.deepEqual(batch, { max: 100, waitMs: 60_000 });
  for (const title of ['a', 'b']) await service.addPost(title);
  await service.call('PATCH', `/api/webhooks/endpoints/${id}`, { body: { batch: null } });
  const requests = await service.receiver.waitForRequests(2);
  const titles = requests.map(({ body }) => String(JSON.parse(String(body)).data.title));
  assert.deepEqual(new Set(titles), new Set(['a', 'b']));
});

test('with the order strict, nothing overtakes a delivery that a replay makes due again', async (t) => {
  const { service } = await start(t);
  const endpoint = await service.addEndpoint({ batch: { max: 10, waitMs: 0 }, order: 'strict' });
  const path = `/api/webhooks/endpoints/${endpoint.id}`;
  await service.call('POST', `${path}/pause`);
  for (const title of ['a', 'b', 'c', 'd']) await service.addPost(title);
  const deliveries = await service.deliveries();
  const b = deliveries.find(({ attempts }, at) => attempts.length === 0 && at === deliveries.length - 2);
  await service.call('POST', `/api/webhooks/deliveries/${b.id}/cancel`);
  await service.call('POST', `/api/webhooks/deliveries/${b.id}/retry`);
  await service.call('POST', `${path}/resume`, { body: { backlog: 'drain' } });
  await deliveriesOnce(service, 'all are delivered', ({ status }) => status === 'delivered');
  assert.deepEqual(service.receiver.requests.flatMap(titlesOf), ['a', 'b', 'c', 'd']);
});

test('an account is sent again in a batch only what it may still view', async (t) => {
  const clock = new MovableClock();
  const stage = await openAccountStage(t, { mode: failing, parts: { clock } });
  const { service } = stage;
  const ann = await stage.account('ann');
  await stage.own(ann, { batch: { max: 2, waitMs: 60_000 }, schedule: [60, 60] });
  await add(stage, 'a');
  const b = await add(stage, 'b');
  await deliveriesOnce(service, 'a failure', ({ attempts }) => attempts.length === 1);
  await service.call('PATCH', `/api/collections/posts/records/${b}`, { body: { isPublic: false } });
  clock.move(75_001);
  service.receiver.mode = { kind: 'ok' };
  await service.signIn();
  service.look();
  const [first, second] = await service.receiver.waitForRequests(2);
  assert.ok(first && second);
  assert.deepEqual([titlesOf(first), titlesOf(second)], [['a', 'b'], ['a']]);
  assert.notEqual(idOf(first), idOf(second));
  await eventually('the other is cancelled', async () =>
    (await service.deliveries(`status = 'cancelled'`)).some(({ cause }) =>
      String(cause).includes('may not view'),
    ),
  );
});
