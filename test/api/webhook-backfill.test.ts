// Both engines: backfills are steps over tables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../faults/random.ts';
import {
  addPosts,
  allSettled,
  backfill,
  backfilled,
  collectionState,
  posts,
  stateOf,
  toTelling,
} from '../support/backfill-stage.ts';
import { type Json, listOf, startWebhookService } from '../support/webhook-service.ts';

test('a backfill sends the existing records as new ones, and others what they are told alone', async (t) => {
  const service = await startWebhookService(t);
  const [first = ''] = await addPosts(service, 3);
  await service.call('PATCH', `${posts}/${first}`, { body: { title: 'changed' } });
  const other = await service.addEndpoint();
  const { id } = await service.addEndpoint({ url: service.receiver.urlAt('127.0.0.1', '/filled') });
  assert.deepEqual(await backfill({ service, endpoint: id }, { collection: 'posts', dryRun: true }), {
    total: 3,
  });
  const begun = await backfill({ service, endpoint: id }, { collection: 'posts' });
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
  const begun = await backfill({ service, endpoint: id }, { collection: 'posts', rate: 400 });
  assert.ok(begun.total >= 1_050);
  const state = { isOver: false };
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    for (let turn = 0; turn < 20 || (turn < 500 && !state.isOver); turn += 1) {
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
  state.isOver = true;
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
  const [changed = '', deleted = '', quiet = '', expunged = ''] = await addPosts(service, 4);
  const { id } = await service.addEndpoint();
  await service.call('POST', `/api/webhooks/endpoints/${id}/pause`);
  // Told of before: that is no reason to leave it out.
  await service.call('PATCH', `${posts}/${quiet}`, { body: { title: 'before' } });
  const begun = await backfill({ service, endpoint: id }, { collection: 'posts' });
  await service.call('PATCH', `${posts}/${changed}`, { body: { title: 'since' } });
  await service.call('DELETE', `${posts}/${deleted}`, { status: 204 });
  const { id: made } = await service.addPost('new');
  // Nothing is sent of this change.
  await service.call('PATCH', `${posts}/${expunged}`, { body: { title: 'expunged' } });
  const { items } = await service.call('GET', `/api/webhooks/events?record=posts/${expunged}&sort=-created`);
  await service.call('DELETE', `/api/webhooks/events/${items[0].id}/body`, { status: 204 });
  await service.call('POST', `/api/webhooks/endpoints/${id}/resume`);
  const over = await backfilled(service, begun.id);
  await allSettled(service);
  assert.deepEqual([over.taken, over.total], [2, 4]);
  const tellings = service.receiver.requests.map(toTelling);
  const toldOf = (record: string): readonly string[] =>
    tellings
      .filter((one) => one.record === record)
      .map(({ kind, backfill: by }) => (by === undefined ? kind : 'backfill'))
      .toSorted();
  assert.deepEqual([changed, deleted, made, quiet, expunged].map(toldOf), [
    ['record.update'],
    ['record.delete'],
    ['record.create'],
    ['backfill', 'record.update'],
    ['backfill'],
  ]);
  assert.deepEqual(stateOf(tellings), await collectionState(service));
});

test('a test event, and what another endpoint is told of a record, are no reason to leave it out', async (t) => {
  const service = await startWebhookService(t);
  const [record = ''] = await addPosts(service, 1);
  await service.addEndpoint({ url: service.receiver.urlAt('127.0.0.1', '/other') });
  const { id } = await service.addEndpoint({ events: ['record.create'] });
  await service.call('POST', `/api/webhooks/endpoints/${id}/pause`);
  const begun = await backfill({ service, endpoint: id }, { collection: 'posts' });
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
    assert.deepEqual(
      await backfill({ service, endpoint: id }, { collection: 'posts', filter, dryRun: true }),
      { total },
    );
  await service.call('POST', `/api/webhooks/endpoints/${id}/pause`);
  const begun = await backfill({ service, endpoint: id }, { collection: 'posts', filter: 'rank >= 200' });
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
  await service.call('PATCH', '/api/settings', { body: { webhooks: { verifyAccountEndpoints: false } } });
  const filtered = await service.addEndpoint({ filter: 'rank >= 30 && rank:changed = true' });
  const owned = await service.addEndpoint({ owner: `users/${ann}` });
  const toldTo = async (endpoint: Json): Promise<readonly string[]> => {
    const begun = await backfill({ service, endpoint: endpoint.id }, { collection: 'posts' });
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
