// Both engines: backfills are steps over tables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addPosts, allSettled, backfill, backfilled, held, posts } from '../support/backfill-stage.ts';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { answers } from '../support/held-sender.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { type Json, listOf, startWebhookService } from '../support/webhook-service.ts';

test('a backfill with a rate takes as many in a second, and a cancelled one sends nothing more', async (t) => {
  const { service, clock, sender } = await held(t);
  await addPosts(service, 6);
  const { id } = await service.addEndpoint();
  const begun = await backfill({ service, endpoint: id }, { collection: 'posts', rate: 2 });
  await eventually('two', () => sender().given.length === 2);
  clock.move(1_000);
  service.look();
  await eventually('two more', () => sender().given.length === 4);
  const { message } = await backfill({ service, endpoint: id, status: 409 }, { collection: 'posts' });
  assert.equal(
    message,
    'Another replay or backfill of the endpoint is running: wait for it to finish, or cancel it.',
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
  const { id: begun } = await backfill({ service, endpoint: id }, { collection: 'posts', rate: 200 });
  await eventually('a step', () => sender().given.length === 100);
  clock.move(500);
  service.look();
  await eventually('another in the same second', () => sender().given.length === 200);
  clock.move(500);
  const over = await backfilled(service, begun);
  assert.equal(over.delivered, 250);
});

/** Passes a millisecond more each time it is read. */
class HastyClock extends MovableClock {
  #reads = 0;

  override monotonic(): number {
    this.#reads += 1;
    return super.monotonic() + this.#reads;
  }
}

test('a step of a backfill under conditions ends when they have taken long, and the next one goes on there', async (t) => {
  const { service, clock, sender } = await held(t, new HastyClock());
  await addPosts(service, 100);
  const { id } = await service.addEndpoint({ filter: 'rank >= 0', collections: ['posts'] });
  const { id: begun } = await backfill({ service, endpoint: id }, { collection: 'posts', rate: 1_000 });
  await eventually('a step', () => sender().given.length > 0);
  const { taken } = await service.call('GET', `/api/webhooks/replays/${begun}`);
  assert.ok(taken < 60, `${taken} records in a step`);
  clock.move(1_000);
  service.look();
  await eventually('the rest', () => {
    clock.move(1_000);
    service.look();
    return sender().given.length === 100;
  });
  assert.equal((await backfilled(service, begun)).delivered, 100);
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
    [first, second, third].map(({ id }) => backfill({ service, endpoint: id }, { collection: 'posts' })),
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
  const byField = await backfill({ service, endpoint: id }, { collection: 'posts', filter: 'rank >= 0' });
  const { fields } = await service.call('GET', '/api/collections/posts');
  const rest = listOf(fields).filter(({ name }) => name !== 'rank');
  await service.call('PATCH', '/api/collections/posts', { body: { fields: rest } });
  await service.call('POST', `${path}/resume`);
  const { state, cause } = await backfilled(service, byField.id);
  assert.equal(state, 'cancelled');
  assert.match(cause, /^The filter does not fit the collection any more: .*rank/);
  await service.call('POST', `${path}/pause`);
  const byEvents = await backfill({ service, endpoint: id }, { collection: 'posts' });
  await service.call('PATCH', path, { body: { events: ['record.delete'] } });
  await service.call('POST', `${path}/resume`);
  assert.equal(
    (await backfilled(service, byEvents.id)).cause,
    'The endpoint no longer subscribes to new records of the collection.',
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
  const begun = await backfill({ service, endpoint: id }, { collection: 'posts' });
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
  for (const { id } of [cloud, narrow]) await backfill({ service, endpoint: id }, { collection: 'posts' });
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
      Object.keys((await backfill({ service, endpoint: id, status: 400 }, body)).data),
      [name],
      JSON.stringify(body),
    );
  const updates = await service.addEndpoint({ events: ['record.update'] });
  const { data } = await backfill({ service, endpoint: updates.id, status: 400 }, { collection: 'posts' });
  assert.equal(data.collection.message, 'The endpoint does not subscribe to record.create.');
  await backfill({ service, endpoint: 'unknown', status: 404 }, { collection: 'posts' });
});
