import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Random } from '../faults/random.ts';
import { eventually } from '../support/eventually.ts';
import { EventStream } from '../support/event-stream.ts';
import { answers, HeldSender, type SenderPort } from '../support/held-sender.ts';
import { MovableClock } from '../support/movable-clock.ts';
import type { ReceivedRequest } from '../support/receiver.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const posts = '/api/collections/posts/records';

/** Writes records by batches of the API, so that each has its event as any other. */
async function addPosts(
  service: WebhookService,
  count: number,
  bodyOf: (index: number) => object = (index) => ({ title: `post ${index}`, rank: index % 100 }),
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let at = 0; at < count; at += 50) {
    const requests = Array.from({ length: Math.min(50, count - at) }, (_, index) => ({
      method: 'POST',
      url: posts,
      body: bodyOf(at + index),
    }));
    const made = listOf(await service.call('POST', '/api/batch', { body: { requests } }));
    ids.push(...made.map(({ body }) => String(body.id)));
  }
  return ids;
}

function backfill(service: WebhookService, endpoint: string, body: object, status = 200): Promise<Json> {
  return service.call('POST', `/api/webhooks/endpoints/${endpoint}/backfill`, { body, status });
}

/** Resolves when a backfill is over and nothing of it waits. */
function backfilled(service: WebhookService, id: string): Promise<Json> {
  return eventually('the backfill is over', async () => {
    service.look();
    const replay = await service.call('GET', `/api/webhooks/replays/${id}`);
    return replay.state !== 'running' && replay.pending === 0 ? replay : undefined;
  });
}

async function allSettled(service: WebhookService): Promise<void> {
  await eventually('nothing waits', async () => {
    service.look();
    return (await service.deliveries("status = 'pending'")).length === 0;
  });
}

interface Telling {
  readonly id: string;
  readonly kind: string;
  readonly sequence: number;
  readonly backfill: string | undefined;
  readonly record: string;
  readonly data: Json;
}

function toTelling({ headers, body }: ReceivedRequest): Telling {
  const { data } = JSON.parse(body.toString('utf8'));
  return {
    id: String(headers['webhook-id']),
    kind: String(headers['x-service-event']),
    sequence: Number(headers['x-service-sequence']),
    // A header that came once.
    backfill: headers['x-service-backfill'] as string | undefined,
    record: String(data.id),
    data,
  };
}

/** What a receiver has that writes each record by its id, unless it knows of a later state. */
function stateOf(tellings: readonly Telling[]): ReadonlyMap<string, Json> {
  const latest = new Map<string, Telling>();
  for (const telling of tellings) {
    const known = latest.get(telling.record);
    if (known === undefined || known.sequence < telling.sequence) latest.set(telling.record, telling);
  }
  const existing = [...latest].filter(([, { kind }]) => kind !== 'record.delete');
  return new Map(existing.map(([id, { data }]) => [id, data]));
}

/** The collection as superusers list it, without what only a list has. */
async function collectionState(service: WebhookService): Promise<ReadonlyMap<string, Json>> {
  const state = new Map<string, Json>();
  for (let page = 1; ; page += 1) {
    const { items, totalPages } = await service.call('GET', `${posts}?perPage=500&page=${page}`);
    for (const { collectionId: _, collectionName: __, note: ___, ...data } of items) state.set(data.id, data);
    if (page >= totalPages) return state;
  }
}

test('a backfill sends the existing records as new ones, and others what they are told alone', async (t) => {
  const service = await startWebhookService(t);
  const [first = ''] = await addPosts(service, 3);
  await service.call('PATCH', `${posts}/${first}`, { body: { title: 'changed' } });
  const other = await service.addEndpoint();
  const { id } = await service.addEndpoint({ url: service.receiver.urlAt('127.0.0.1', '/filled') });
  assert.deepEqual(await backfill(service, id, { collection: 'posts', dryRun: true }), { total: 3 });
  const begun = await backfill(service, id, { collection: 'posts' });
  const { id: collection } = await service.call('GET', '/api/collections/posts');
  assert.deepEqual(
    [begun.scope, begun.collection, begun.endpoint, begun.total, begun.cause],
    ['backfill', collection, id, 3, ''],
  );
  const over = await backfilled(service, begun.id);
  assert.deepEqual([over.state, over.taken, over.delivered, over.failed], ['done', 3, 3, 0]);
  const { requests } = service.receiver;
  assert.deepEqual(new Set(requests.map(({ path }) => path)), new Set(['/filled']));
  const [told] = requests;
  assert.ok(told);
  const { event, timestamp, instance_id: _, ...rest } = JSON.parse(told.body.toString('utf8'));
  const { created, updated } = rest.data;
  assert.equal(event, 'record.create');
  assert.ok(Date.parse(timestamp) >= Date.parse(updated));
  assert.deepEqual(rest, {
    collection: 'posts',
    data: { id: first, title: 'changed', rank: 0, isPublic: false, extra: null, created, updated },
  });
  assert.deepEqual(
    ['event', 'sequence', 'actor', 'hops', 'backfill', 'changed'].map(
      (name) => told.headers[`x-service-${name}`],
    ),
    ['record.create', '2', 'service', '1', begun.id, undefined],
  );
  assert.deepEqual(stateOf(requests.map(toTelling)), await collectionState(service));
  const { items } = await service.call('GET', "/api/webhooks/events?filter=(kind='backfill')");
  assert.equal(items.length, 3);
  assert.deepEqual(
    new Set(listOf(items).flatMap(({ deliveries }) => listOf(deliveries).map((one) => one.endpoint))),
    new Set([id]),
  );
  assert.deepEqual(
    (await service.deliveries("kind = 'backfill'")).map(({ status }) => status),
    ['delivered', 'delivered', 'delivered'],
  );
  assert.equal((await service.deliveries(`endpoint = '${other.id}'`)).length, 0);
});

test('a backfill with writes going on ends in the state of the collection, and tells of each state once', async (t) => {
  const service = await startWebhookService(t);
  const ids = await addPosts(service, 1_050);
  const { id } = await service.addEndpoint({ order: 'record' });
  const random = new Random(29);
  // So slow that writers come before it and behind it.
  const begun = await backfill(service, id, { collection: 'posts', rate: 400 });
  assert.ok(begun.total >= 1_050);
  let isOver = false;
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    for (let turn = 0; turn < 20 || (turn < 500 && !isOver); turn += 1) {
      const record = random.pick(ids) ?? '';
      const body = { title: `changed ${writer} ${turn}`, rank: turn };
      const [method, path, given] =
        turn % 4 === 0
          ? (['POST', posts, { body }] as const)
          : turn % 4 === 1
            ? (['DELETE', `${posts}/${record}`, {}] as const)
            : (['PATCH', `${posts}/${record}`, { body }] as const);
      // Another writer may have deleted it.
      await service.request(path, { method, token: true, ...given });
    }
  });
  const over = await backfilled(service, begun.id);
  isOver = true;
  await Promise.all(writers);
  await allSettled(service);
  const tellings = service.receiver.requests.map(toTelling);
  assert.deepEqual(stateOf(tellings), await collectionState(service));
  const states = tellings.map(({ record, sequence }) => `${record} ${sequence}`);
  assert.equal(new Set(states).size, states.length, 'no state is told twice');
  const ofBackfill = tellings.filter((one) => one.backfill === begun.id);
  assert.equal(new Set(ofBackfill.map(({ record }) => record)).size, ofBackfill.length);
  assert.deepEqual([over.state, over.taken, over.delivered], ['done', ofBackfill.length, ofBackfill.length]);
  // With the order `record`, the states of a record arrive one behind the other.
  const last = new Map<string, number>();
  for (const { record, sequence } of tellings) {
    assert.ok(sequence > (last.get(record) ?? 0), `${record} ${sequence} behind ${last.get(record)}`);
    last.set(record, sequence);
  }
  t.diagnostic(`${ofBackfill.length} by the backfill, ${tellings.length - ofBackfill.length} by changes`);
});

test('a backfill leaves out what the endpoint was told of since it began', async (t) => {
  const service = await startWebhookService(t);
  const [changed = '', deleted = '', quiet = ''] = await addPosts(service, 3);
  const { id } = await service.addEndpoint();
  await service.call('POST', `/api/webhooks/endpoints/${id}/pause`);
  // Told of before: that is no reason to leave it out.
  await service.call('PATCH', `${posts}/${quiet}`, { body: { title: 'before' } });
  const begun = await backfill(service, id, { collection: 'posts' });
  await service.call('PATCH', `${posts}/${changed}`, { body: { title: 'since' } });
  await service.call('DELETE', `${posts}/${deleted}`, { status: 204 });
  const { id: made } = await service.addPost('new');
  await service.call('POST', `/api/webhooks/endpoints/${id}/resume`);
  const over = await backfilled(service, begun.id);
  await allSettled(service);
  assert.deepEqual([over.taken, over.total], [1, 3]);
  const tellings = service.receiver.requests.map(toTelling);
  const toldOf = (record: string): readonly string[] =>
    tellings
      .filter((one) => one.record === record)
      .map(({ kind, backfill: by }) => (by === undefined ? kind : 'backfill'))
      .toSorted();
  assert.deepEqual([changed, deleted, made, quiet].map(toldOf), [
    ['record.update'],
    ['record.delete'],
    ['record.create'],
    ['backfill', 'record.update'],
  ]);
  assert.deepEqual(stateOf(tellings), await collectionState(service));
});

test('a test event, and what another endpoint is told of a record, are no reason to leave it out', async (t) => {
  const service = await startWebhookService(t);
  const [record = ''] = await addPosts(service, 1);
  await service.addEndpoint({ url: service.receiver.urlAt('127.0.0.1', '/other') });
  const { id } = await service.addEndpoint({ events: ['record.create'] });
  await service.call('POST', `/api/webhooks/endpoints/${id}/pause`);
  const begun = await backfill(service, id, { collection: 'posts' });
  await service.call('PATCH', `${posts}/${record}`, { body: { title: 'changed' } });
  await service.call('POST', `/api/webhooks/endpoints/${id}/test`);
  await service.call('POST', `/api/webhooks/endpoints/${id}/resume`);
  assert.equal((await backfilled(service, begun.id)).delivered, 1);
  const told = service.receiver.requests.map(toTelling).find((one) => one.backfill !== undefined);
  assert.deepEqual([told?.record, told?.sequence, told?.data.title], [record, 2, 'changed']);
});

test('a backfill takes only records that meet its filter, as they are when it comes to them', async (t) => {
  const service = await startWebhookService(t);
  const ids = await addPosts(service, 250, (index) => ({ title: `t${index}`, rank: index, note: 'n' }));
  const { id } = await service.addEndpoint({ events: ['record.create'] });
  for (const [filter, total] of [
    ['rank >= 200', 50],
    ['rank >= 200 && rank < 210', 10],
    ["note = 'n' && rank = 1", 1],
    ['created <= @now', 250],
    ['rank > 1000', 0],
  ] as const)
    assert.deepEqual(await backfill(service, id, { collection: 'posts', filter, dryRun: true }), { total });
  await service.call('POST', `/api/webhooks/endpoints/${id}/pause`);
  const begun = await backfill(service, id, { collection: 'posts', filter: 'rank >= 200' });
  assert.equal(begun.filter, 'rank >= 200');
  await service.call('PATCH', `${posts}/${ids[0]}`, { body: { rank: 900 } });
  await service.call('PATCH', `${posts}/${ids[249]}`, { body: { rank: 0 } });
  await service.call('POST', `/api/webhooks/endpoints/${id}/resume`);
  const over = await backfilled(service, begun.id);
  const records = service.receiver.requests.map(toTelling).map(({ record }) => record);
  assert.equal(over.taken, 50);
  assert.deepEqual(new Set(records), new Set([ids[0], ...ids.slice(200, 249)]));
});

test('a backfill tells an endpoint with conditions only of records that meet them', async (t) => {
  const service = await startWebhookService(t);
  await addPosts(service, 40, (index) => ({ title: `t${index}`, rank: index }));
  const own = { title: 'own', rank: 39, isPublic: true };
  await service.call('POST', posts, { body: own, status: 201 });
  const account = { email: 'ann@example.com', password: 'correct horse', passwordConfirm: 'correct horse' };
  const { id: ann } = await service.call('POST', '/api/collections/users/records', { body: account });
  await service.call('PATCH', '/api/collections/posts', { body: { viewRule: 'isPublic = true' } });
  const filtered = await service.addEndpoint({ filter: 'rank >= 30 && rank:changed = true' });
  const owned = await service.addEndpoint({ owner: `users/${ann}` });
  const toldTo = async (endpoint: Json): Promise<readonly string[]> => {
    const begun = await backfill(service, endpoint.id, { collection: 'posts' });
    assert.equal((await backfilled(service, begun.id)).state, 'done');
    const deliveries = await service.deliveries(`endpoint = '${endpoint.id}'`);
    const ids = new Set(deliveries.map(({ record }) => record));
    const { requests } = service.receiver;
    return requests.map(toTelling).flatMap(({ record, data }) => (ids.has(record) ? [data.title] : []));
  };
  assert.deepEqual((await toldTo(filtered)).length, 11);
  service.receiver.requests.length = 0;
  assert.deepEqual(await toldTo(owned), ['own']);
  const [request] = service.receiver.requests;
  assert.equal(request?.headers['x-service-actor'], undefined);
});

test('a backfill with a rate takes as many in a second, and a cancelled one sends nothing more', async (t) => {
  const { service, clock, sender } = await held(t);
  await addPosts(service, 6);
  const { id } = await service.addEndpoint();
  const begun = await backfill(service, id, { collection: 'posts', rate: 2 });
  await eventually('two', () => sender().given.length === 2);
  clock.move(1_000);
  service.look();
  await eventually('two more', () => sender().given.length === 4);
  const { message } = await backfill(service, id, { collection: 'posts' }, 409);
  assert.equal(
    message,
    'Another replay or backfill of the endpoint goes on: wait for its end, or cancel it.',
  );
  await service.call('POST', `/api/webhooks/endpoints/${id}/replay`, { status: 409 });
  const cancelled = await service.call('DELETE', `/api/webhooks/replays/${begun.id}`);
  assert.deepEqual([cancelled.state, cancelled.taken, cancelled.cause], ['cancelled', 4, '']);
  clock.move(10_000);
  service.look();
  await service.signIn();
  await allSettled(service);
  assert.equal(sender().given.length, 4);
});

test('a rate above what a step takes is kept as well', async (t) => {
  const { service, clock, sender } = await held(t);
  await addPosts(service, 250);
  const { id } = await service.addEndpoint();
  const { id: begun } = await backfill(service, id, { collection: 'posts', rate: 200 });
  await eventually('a step', () => sender().given.length === 100);
  clock.move(500);
  service.look();
  await eventually('another in the same second', () => sender().given.length === 200);
  clock.move(500);
  const over = await backfilled(service, begun);
  assert.equal(over.delivered, 250);
});

test('a paused endpoint lets its backfill wait, and one that is deleted ends it, as the collection does', async (t) => {
  const service = await startWebhookService(t);
  const states = async (id: string): Promise<readonly unknown[]> => {
    const { state, cause, taken } = await service.call('GET', `/api/webhooks/replays/${id}`);
    return [state, cause, taken];
  };
  await addPosts(service, 3);
  const paused = { status: 'paused' };
  const first = await service.addEndpoint(paused);
  const second = await service.addEndpoint({ ...paused, collections: ['posts'] });
  const third = await service.addEndpoint(paused);
  const [ofFirst, ofSecond, ofThird] = await Promise.all(
    [first, second, third].map(({ id }) => backfill(service, id, { collection: 'posts' })),
  );
  service.look();
  assert.deepEqual(await states(ofFirst.id), ['running', '', 0]);
  await service.call('PATCH', '/api/collections/posts', { body: { name: 'articles' } });
  await service.call('POST', `/api/webhooks/endpoints/${first.id}/resume`);
  assert.equal((await backfilled(service, ofFirst.id)).delivered, 3);
  const [request] = service.receiver.requests;
  assert.equal(request?.headers['x-service-collection'], 'articles', 'a rename does not matter');
  await service.call('DELETE', `/api/webhooks/endpoints/${third.id}`, { status: 204 });
  assert.deepEqual(await states(ofThird.id), ['cancelled', '', 0]);
  await service.call('DELETE', '/api/collections/articles', { status: 204 });
  assert.deepEqual(await states(ofSecond.id), ['cancelled', 'The collection was deleted.', 0]);
  assert.equal(service.receiver.requests.length, 3);
});

test('a backfill ends with its reason when its endpoint or its filter does not fit the collection any more', async (t) => {
  const service = await startWebhookService(t);
  await addPosts(service, 2);
  const { id } = await service.addEndpoint({ status: 'paused' });
  const path = `/api/webhooks/endpoints/${id}`;
  const byField = await backfill(service, id, { collection: 'posts', filter: 'rank >= 0' });
  const { fields } = await service.call('GET', '/api/collections/posts');
  const rest = listOf(fields).filter(({ name }) => name !== 'rank');
  await service.call('PATCH', '/api/collections/posts', { body: { fields: rest } });
  await service.call('POST', `${path}/resume`);
  const { state, cause } = await backfilled(service, byField.id);
  assert.equal(state, 'cancelled');
  assert.match(cause, /^The filter does not fit the collection any more: .*rank/);
  await service.call('POST', `${path}/pause`);
  const byEvents = await backfill(service, id, { collection: 'posts' });
  await service.call('PATCH', path, { body: { events: ['record.delete'] } });
  await service.call('POST', `${path}/resume`);
  assert.equal(
    (await backfilled(service, byEvents.id)).cause,
    'The endpoint is not told of new records of it any more.',
  );
  assert.deepEqual(service.receiver.requests, []);
});

test('nobody but its endpoint learns of a backfill', async (t) => {
  const service = await startWebhookService(t);
  const [record = ''] = await addPosts(service, 2);
  const other = await service.addEndpoint({ status: 'paused' });
  const { id } = await service.addEndpoint();
  const feedOf = async (cursor = ''): Promise<Json> =>
    service.call('GET', `/api/webhooks/feed?cursor=${encodeURIComponent(cursor)}`);
  const before = await eventually('both are in the feed', async () => {
    const feed = await feedOf();
    return feed.items.length === 2 ? feed : undefined;
  });
  const stats = async (): Promise<number> => {
    const { total } = await service.call('GET', '/api/webhooks/stats');
    return total.events;
  };
  const stream = await EventStream.open(t, service.url);
  const subscription = { clientId: stream.clientId, subscriptions: ['posts/*'] };
  await service.call('POST', '/api/realtime', { body: subscription });
  const eventsBefore = await stats();
  const begun = await backfill(service, id, { collection: 'posts' });
  await backfilled(service, begun.id);
  const { id: later } = await service.addPost('later');
  assert.deepEqual(
    (await stream.received(1)).map(({ data }) => [data.action, data.record.id]),
    [['create', later]],
  );
  const next = await eventually('the feed goes on', async () => {
    const { items } = await feedOf(before.nextCursor);
    return items.length > 0 ? listOf(items) : undefined;
  });
  assert.deepEqual(
    next.map(({ payload }) => payload.data.id),
    [later],
  );
  const story = await service.call('GET', `/api/webhooks/events?record=posts/${record}`);
  assert.deepEqual(
    listOf(story.items).map(({ kind }) => kind),
    ['record.create'],
  );
  for (const scope of ['all', 'missing', 'failed'])
    assert.deepEqual(
      await service.call('POST', `/api/webhooks/endpoints/${other.id}/replay`, {
        body: { scope, dryRun: true },
      }),
      { total: scope === 'failed' ? 0 : 2 },
      scope,
    );
  assert.equal(await stats(), eventsBefore + 1);
  const others = await service.deliveries(`endpoint = '${other.id}'`);
  assert.deepEqual(
    others.map(({ kind, record: of }) => [kind, of]),
    [['record.create', later]],
  );
});

test('what a backfill sends is shaped as its endpoint asks for, and sent again under the same id', async (t) => {
  const { service, sender, clock } = await held(t);
  await service.call('POST', posts, { body: { title: 'large', extra: 'x'.repeat(300_000) }, status: 201 });
  await addPosts(service, 1);
  const cloud = await service.addEndpoint({ cloudEvents: true, payload: 'previous' });
  const narrow = await service.addEndpoint({ fields: ['title'] });
  sender().answer = { ...answers.missing };
  for (const { id } of [cloud, narrow]) await backfill(service, id, { collection: 'posts' });
  await eventually('each has failed', async () => {
    const deliveries = await service.deliveries();
    return deliveries.length === 4 && deliveries.every(({ attempts }) => attempts.length === 1);
  });
  sender().answer = answers.ok;
  clock.move(10_000);
  await service.signIn();
  await eventually('each is tried again', async () => {
    service.look();
    return (await service.deliveries("status = 'pending'")).length === 0;
  });
  const of = (endpoint: Json) => sender().given.filter(({ endpointId }) => endpointId === endpoint.id);
  for (const endpoint of [cloud, narrow]) {
    const given = of(endpoint);
    assert.deepEqual([given.length, new Set(given.map(({ eventId }) => eventId)).size], [4, 2]);
    assert.ok(given.every(({ cause, event }) => cause?.backfill !== undefined && event === 'record.create'));
  }
  const bodies = (endpoint: Json): readonly Json[] =>
    of(endpoint).map(({ body }) => JSON.parse(Buffer.from(body).toString('utf8')));
  assert.ok(of(cloud).every(({ cloudEvent }) => cloudEvent !== undefined));
  assert.ok(bodies(cloud).every((body) => body.event === 'record.create' && body.previous === undefined));
  assert.ok(
    bodies(narrow).every(({ data }) => Object.keys(data).every((name) => ['id', 'title'].includes(name))),
  );
  assert.equal(of(cloud).filter(({ isThin }) => isThin).length, 2);
});

test('a backfill that makes no sense is refused by name', async (t) => {
  const service = await startWebhookService(t);
  await service.call('POST', '/api/collections', { body: { name: 'notes', fields: [] } });
  const { id } = await service.addEndpoint({ collections: ['posts'] });
  for (const [body, name] of [
    [{}, 'collection'],
    [{ collection: 7 }, 'collection'],
    [{ collection: 'unknown' }, 'collection'],
    [{ collection: '_superusers' }, 'collection'],
    [{ collection: 'notes' }, 'collection'],
    [{ collection: 'posts', filter: 7 }, 'filter'],
    [{ collection: 'posts', filter: 'nope = 1' }, 'filter'],
    [{ collection: 'posts', rate: -1 }, 'rate'],
    [{ collection: 'posts', rate: 10_001 }, 'rate'],
    [{ collection: 'posts', dryRun: 1 }, 'dryRun'],
    [{ collection: 'posts', since: '' }, 'since'],
  ] as const)
    assert.deepEqual(
      Object.keys((await backfill(service, id, body, 400)).data),
      [name],
      JSON.stringify(body),
    );
  const updates = await service.addEndpoint({ events: ['record.update'] });
  const { data } = await backfill(service, updates.id, { collection: 'posts' }, 400);
  assert.equal(
    data.collection.message,
    'The endpoint is not told of new records: record.create is not among its events.',
  );
  await backfill(service, 'unknown', { collection: 'posts' }, 404);
});

interface Held {
  readonly service: WebhookService;
  readonly clock: MovableClock;
  readonly sender: () => HeldSender;
}

/** A service on a clock of its own, whose webhooks arrive at once and nowhere. */
async function held(t: TestContext): Promise<Held> {
  let sender = new HeldSender();
  const wrapSender = (real: SenderPort): SenderPort => (sender = new HeldSender(real));
  const clock = new MovableClock();
  const service = await startWebhookService(t, { parts: { wrapSender, clock } });
  sender.answer = answers.ok;
  return { service, clock, sender: () => sender };
}
