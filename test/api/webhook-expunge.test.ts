// Both engines: bodies are removed from the log.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const events = '/api/webhooks/events';
const cause = 'The body was expunged.';

async function onlyEvent(service: WebhookService, filter = ''): Promise<Json> {
  const { items } = await service.call('GET', `${events}?sort=-created&filter=${encodeURIComponent(filter)}`);
  return items[0];
}

/** Whether a text stands anywhere in the tables of the log. */
async function isKept(service: WebhookService, text: string): Promise<boolean> {
  return service.withInstance('default', async ({ database }) => {
    const { names } = database;
    const found = [];
    for (const table of ['$event', '$attempt', '$outcome'] as const)
      found.push(
        ...(await database.all(sql`SELECT * FROM ${names.table(table)} WHERE ${names.instance.condition}`)),
      );
    return found.some((row) =>
      Object.values(row).some((value) => {
        const read = value instanceof Uint8Array ? Buffer.from(value).toString() : String(value);
        return read.includes(text);
      }),
    );
  });
}

test('W-61 a body is gone from the log with what is hidden, replaced and answered, and that it happened stays', async (t) => {
  const service = await startWebhookService(t, {
    mode: { kind: 'status', status: 200, body: 'echo: s3cret' },
  });
  const { id: endpoint } = await service.addEndpoint({ payload: 'previous' });
  const body = { title: 's3cret', note: 's3cret hidden' };
  const post = await service.call('POST', '/api/collections/posts/records', { body, status: 201 });
  const path = `/api/collections/posts/records/${post.id}`;
  await service.call('PATCH', path, { body: { title: 'new', note: '' } });
  await eventually(
    'both deliveries',
    async () => (await service.deliveries("status = 'delivered'")).length === 2,
  );
  const [updated, created] = listOf((await service.call('GET', `${events}?sort=-created`)).items);
  assert.deepEqual([created.expunged, updated.expunged], ['', '']);
  for (const { id } of [created, updated]) {
    assert.equal(await isKept(service, 's3cret'), true);
    await service.call('DELETE', `${events}/${id}/body`, { status: 204 });
    const view = await service.call('GET', `${events}/${id}`);
    assert.equal(view.body, null);
    assert.match(view.expunged, /^20\d\d-/);
    assert.deepEqual([view.record, view.collection, view.deliveries.length], [post.id, 'posts', 1]);
    const delivery = await service.call('GET', `/api/webhooks/deliveries/${id}-${endpoint}`);
    const [attempt] = delivery.attempts;
    assert.deepEqual(
      [delivery.status, attempt.status, attempt.responseBody, attempt.responseHeaders],
      ['delivered', 200, '', {}],
    );
  }
  assert.equal(await isKept(service, 's3cret'), false);
  const again = await service.call('GET', `${events}/${created.id}`);
  await service.call('DELETE', `${events}/${created.id}/body`, { status: 204 });
  assert.deepEqual(await service.call('GET', `${events}/${created.id}`), again);
  await service.call('DELETE', `${events}/nothing/body`, { status: 404 });
  const audit = await service.call(
    'GET',
    `/api/audit?filter=${encodeURIComponent("action = 'event.expunge'")}`,
  );
  assert.deepEqual(
    listOf(audit.items)
      .map(({ target }) => String(target))
      .toSorted(),
    [String(created.id), String(updated.id)].toSorted(),
  );
  const listed = await service.call('GET', `${events}?filter=${encodeURIComponent("expunged != ''")}`);
  assert.equal(listed.totalItems, 2);
  assert.equal((await service.call('GET', path)).title, 'new');
});

test('what waits is cancelled with its body, cannot be retried, and no replay sends it', async (t) => {
  const service = await startWebhookService(t);
  const waiting = await service.addEndpoint({ status: 'paused' });
  const ordered = await service.addEndpoint({ status: 'paused', order: 'record' });
  const post = await service.addPost('one');
  const first = await onlyEvent(service);
  await service.call('PATCH', `/api/collections/posts/records/${post.id}`, { body: { title: 'two' } });
  await service.call('DELETE', `${events}/${first.id}/body`, { status: 204 });
  const cancelled = await service.deliveries(`event = '${first.id}'`);
  assert.deepEqual(
    cancelled.map((one) => [one.status, one.cause]),
    [
      ['cancelled', cause],
      ['cancelled', cause],
    ],
  );
  const retry = await service.call('POST', `/api/webhooks/deliveries/${first.id}-${waiting.id}/retry`, {
    status: 409,
  });
  assert.equal(retry.message, 'The body of its event was expunged: nothing is left to send.');
  for (const { id } of [waiting, ordered]) await service.call('POST', `/api/webhooks/endpoints/${id}/resume`);
  await eventually(
    'the change at both',
    async () => (await service.deliveries("status = 'delivered'")).length === 2,
  );
  const later = await service.addEndpoint();
  for (const { id } of [waiting, later])
    for (const scope of ['failed', 'missing', 'all']) {
      const body = { scope, dryRun: true };
      const { total } = await service.call('POST', `/api/webhooks/endpoints/${id}/replay`, { body });
      const isLeft = scope === 'all' || (scope === 'missing' && id === later.id);
      assert.deepEqual([scope, total], [scope, isLeft ? 1 : 0]);
    }
  assert.deepEqual(
    service.receiver.requests.map(({ body }) => JSON.parse(body.toString()).data.title),
    ['two', 'two'],
  );
});

test('a delivery that has failed and waits for its next attempt is cancelled, and lets go what waits behind it', async (t) => {
  const service = await startWebhookService(t, { mode: { kind: 'status', status: 500, body: 's3cret' } });
  await service.addEndpoint({ order: 'record', schedule: [3_600] });
  const post = await service.addPost('one');
  await service.delivery('the failure', ({ attempts }) => attempts.length === 1);
  service.receiver.mode = { kind: 'ok' };
  await service.call('PATCH', `/api/collections/posts/records/${post.id}`, { body: { title: 'two' } });
  const { id } = await onlyEvent(service, "kind = 'record.create'");
  await eventually('the second, held behind it', () =>
    service.withInstance('default', async ({ database }) => {
      const { names } = database;
      const rows = await database.tuples(
        sql`SELECT 1 FROM ${names.table('$outcome')} WHERE ${names.instance.condition}`,
      );
      return rows.length === 2;
    }),
  );
  await service.call('DELETE', `${events}/${id}/body`, { status: 204 });
  service.look();
  await eventually(
    'the one behind it',
    async () => (await service.deliveries("status = 'delivered'")).length === 1,
  );
  const [failed] = await service.deliveries(`event = '${id}'`);
  assert.deepEqual([failed.status, failed.cause, failed.attempts.length], ['cancelled', cause, 1]);
  assert.equal(await isKept(service, 's3cret'), false);
});

test('what is answered to an attempt that was on its way is not kept', async (t) => {
  const gate = Promise.withResolvers<undefined>();
  const service = await startWebhookService(t, {
    mode: { kind: 'held', until: gate.promise },
  });
  await service.addEndpoint();
  await service.addPost('one');
  await eventually('the request', () => service.receiver.requests.length === 1);
  const { id } = await onlyEvent(service);
  await service.call('DELETE', `${events}/${id}/body`, { status: 204 });
  gate.resolve(undefined);
  const delivery = await service.delivery('its attempt', ({ attempts }) => attempts.length === 1);
  assert.deepEqual([delivery.status, delivery.cause], ['cancelled', cause]);
  const { attempts } = await service.call('GET', `/api/webhooks/deliveries/${delivery.id}`);
  assert.deepEqual(
    [attempts[0].status, attempts[0].responseBody, attempts[0].responseHeaders],
    [200, '', {}],
  );
});

test('the feed goes on over an event whose body is gone and tells its id alone, and filters do not find it', async (t) => {
  const service = await startWebhookService(t);
  const endpoint = await service.addEndpoint({ status: 'paused' });
  const posts = [];
  for (const title of ['a', 'b', 'c']) posts.push(await service.addPost(title));
  const all = await eventually('three events', async () => {
    const feed = await service.call('GET', '/api/webhooks/feed');
    return feed.items.length === 3 && feed;
  });
  const [, second] = all.items;
  await service.call('DELETE', `${events}/${second.id}/body`, { status: 204 });
  const { items, nextCursor } = await service.call('GET', `/api/webhooks/feed?signed=${endpoint.id}`);
  assert.deepEqual(
    listOf(items).map(({ payload }) => payload.data),
    [{ ...all.items[0].payload.data }, { id: posts[1].id }, { ...all.items[2].payload.data }],
  );
  assert.deepEqual((await service.call('GET', `/api/webhooks/feed?cursor=${nextCursor}`)).items, []);
  const filter = encodeURIComponent("title = '' || title = 'c'");
  const found = await service.call('GET', `/api/webhooks/feed?filter=${filter}`);
  assert.deepEqual(
    listOf(found.items).map(({ payload }) => payload.data.title),
    ['c'],
  );
  const tested = await service.call('POST', '/api/webhooks/filters/test', {
    body: { filter: "title = ''", collection: 'posts' },
  });
  assert.deepEqual([tested.items.length, tested.met], [2, 0]);
});

test('a filter about the state before a change is not decided where that state was expunged', async (t) => {
  const service = await startWebhookService(t);
  const posts = '/api/collections/posts/records';
  const body = { title: 'old', rank: 1 };
  // Made a second time: the state before is not that of the first record either.
  const { id } = await service.call('POST', posts, { body, status: 201 });
  await service.call('DELETE', `${posts}/${id}`, { status: 204 });
  await service.call('POST', posts, { body: { ...body, id, title: 'second' }, status: 201 });
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'new' } });
  const verdicts = async (filter: string): Promise<unknown> => {
    const asked = { body: { filter, collection: 'posts' } };
    const { items } = await service.call('POST', '/api/webhooks/filters/test', asked);
    return listOf(items).find(({ kind }) => kind === 'record.update').isMet;
  };
  assert.equal(await verdicts("@old.title = 'second'"), true);
  const made = await onlyEvent(service, "kind = 'record.create'");
  await service.call('DELETE', `${events}/${made.id}/body`, { status: 204 });
  for (const filter of ["@old.title = 'old'", "@old.title = ''", 'rank:changed = true'])
    assert.equal(await verdicts(filter), null, filter);
  assert.equal(await verdicts("title = 'new'"), true);
});

test('a test with a record is expunged as well, and one whose body is gone tells nobody in realtime', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.addEndpoint({ status: 'paused' });
  const post = await service.addPost('s3cret');
  const body = { recordId: post.id, collection: 'posts' };
  await service.call('POST', `/api/webhooks/endpoints/${id}/test`, { body });
  await service.call('PATCH', `/api/collections/posts/records/${post.id}`, { body: { title: 'new' } });
  const { items } = await service.call('GET', events);
  for (const { id: event } of listOf(items))
    await service.call('DELETE', `${events}/${event}/body`, { status: 204 });
  assert.equal(await isKept(service, 's3cret'), false);
  const stream = await EventStream.open(t, service.url);
  assert.deepEqual(stream.messages, []);
});
