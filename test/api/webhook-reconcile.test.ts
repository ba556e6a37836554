// Both engines: reconciles compare tables with keys, and watch a log that is safe later on PostgreSQL.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { eventually } from '../support/eventually.ts';
import { copied, copyOf, lineOf, reconciled, titlesOf, toTold } from '../support/mirror-stage.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const posts = '/api/collections/posts/records';
const mirror = { transitions: true, filter: 'isPublic = true', collections: ['posts'] };

function heldCount(service: WebhookService): Promise<number> {
  return service.withInstance('default', async ({ database }) => {
    const { names } = database;
    const rows = await database.tuples(
      sql`SELECT record FROM ${names.table('$held')} WHERE ${names.instance.condition}`,
    );
    return rows.length;
  });
}

function post(service: WebhookService, body: object): Promise<Json> {
  return service.call('POST', posts, { body, status: 201 });
}

test('a new endpoint is sent the records that match, and nothing else', async (t) => {
  const service = await startWebhookService(t);
  await post(service, { title: 'a', isPublic: true });
  await post(service, { title: 'b' });
  await post(service, { title: 'c', isPublic: true });
  const made = await service.addEndpoint(mirror);
  assert.equal(made.reconciling, true);
  await reconciled(service);
  await copied(service, 'a c');
  assert.deepEqual(service.receiver.requests.map(toTold).map(lineOf).toSorted(), ['enter a', 'enter c']);
  await service.call('POST', `/api/webhooks/endpoints/${made.id}/reconcile`, { body: {} });
  await reconciled(service);
  assert.equal(service.receiver.requests.length, 2);
});

test('another filter sends what it lets in, and takes back what it no longer does', async (t) => {
  const service = await startWebhookService(t);
  for (const [title, rank] of [
    ['a', 1],
    ['b', 2],
    ['c', 3],
  ])
    await post(service, { title, rank });
  const { id } = await service.addEndpoint({ ...mirror, filter: 'rank <= 2' });
  await copied(service, 'a b');
  const before = service.receiver.requests.length;
  await service.call('PATCH', `/api/webhooks/endpoints/${id}`, { body: { filter: 'rank >= 2' } });
  await copied(service, 'b c');
  const told = service.receiver.requests.slice(before).map(toTold);
  assert.deepEqual(told.map(lineOf).toSorted(), ['enter c', 'leave a']);
  assert.equal(told.find(({ transition }) => transition === 'leave')?.data.rank, 1);
});

test('an endpoint that drops a collection is told to delete its records', async (t) => {
  const service = await startWebhookService(t);
  const pages = {
    name: 'pages',
    fields: [
      { type: 'text', name: 'title' },
      { type: 'bool', name: 'isPublic' },
    ],
  };
  await service.call('POST', '/api/collections', { body: pages });
  await post(service, { title: 'a', isPublic: true });
  await service.call('POST', '/api/collections/pages/records', { body: { title: 'p', isPublic: true } });
  const { id } = await service.addEndpoint({ ...mirror, collections: ['posts', 'pages'] });
  await copied(service, 'a p');
  await service.call('PATCH', `/api/webhooks/endpoints/${id}`, { body: { collections: ['posts'] } });
  await copied(service, 'a');
});

async function startAuthors(t: TestContext): Promise<WebhookService> {
  const service = await startWebhookService(t);
  const authors = { name: 'authors', fields: [{ type: 'bool', name: 'isActive' }] };
  const made = await service.call('POST', '/api/collections', { body: authors });
  const { fields } = await service.call('GET', '/api/collections/posts');
  const author = { type: 'relation', name: 'author', collectionId: made.id, maxSelect: 1 };
  await service.call('PATCH', '/api/collections/posts', { body: { fields: [...fields, author] } });
  return service;
}

test('a change of a related record sends what it lets in, and takes back what it no longer does', async (t) => {
  const service = await startAuthors(t);
  const records = '/api/collections/authors/records';
  const { id: author } = await service.call('POST', records, { body: { isActive: true } });
  await service.addEndpoint({ ...mirror, filter: 'author.isActive = true' });
  await post(service, { title: 'a', author });
  await post(service, { title: 'b' });
  await copied(service, 'a');
  await service.call('PATCH', `${records}/${author}`, { body: { isActive: false } });
  await copied(service, '');
  await service.call('PATCH', `${records}/${author}`, { body: { isActive: true } });
  await copied(service, 'a');
  await service.call('DELETE', `${records}/${author}`);
  await copied(service, '');
});

test('a record whose state an endpoint may lack, as its event was expunged, is sent again', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint(mirror);
  await post(service, { title: 'a', isPublic: true });
  await copied(service, 'a');
  const { items } = await service.call('GET', '/api/webhooks/events');
  await service.call('DELETE', `/api/webhooks/events/${items[0].id}/body`);
  await eventually('the record is sent again', () => {
    service.look();
    return service.receiver.requests.map(toTold).map(lineOf).includes('enter a') ? true : undefined;
  });
  assert.equal(titlesOf(copyOf(service.receiver.requests)), 'a');
});

test('an endpoint whose filter broke keeps what it holds until it has another filter', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.addEndpoint(mirror);
  const { id: shown } = await post(service, { title: 'shown', isPublic: true });
  await copied(service, 'shown');
  const { fields } = await service.call('GET', '/api/collections/posts');
  const others = listOf(fields).filter(({ name }) => name !== 'isPublic');
  await service.call('PATCH', '/api/collections/posts', { body: { fields: others } });
  const path = `/api/webhooks/endpoints/${id}`;
  assert.equal((await service.call('GET', path)).status, 'paused');
  await post(service, { title: 'never' });
  await service.call('PATCH', `${posts}/${shown}`, { body: { title: 'shown again', rank: 2 } });
  await service.call('PATCH', path, { body: { filter: 'rank = 2' } });
  await service.call('POST', `${path}/resume`, { body: {} });
  await copied(service, 'shown again');
  assert.deepEqual(service.receiver.requests.map(toTold).map(lineOf), ['create shown', 'update shown again']);
});

test('the keys of an endpoint go with it, and with its transitions', async (t) => {
  const service = await startWebhookService(t);
  await post(service, { title: 'a', isPublic: true });
  const { id } = await service.addEndpoint(mirror);
  const { id: other } = await service.addEndpoint(mirror);
  await reconciled(service);
  assert.equal(await heldCount(service), 2);
  await service.call('DELETE', `/api/webhooks/endpoints/${id}`);
  assert.equal(await heldCount(service), 1);
  await service.call('PATCH', `/api/webhooks/endpoints/${other}`, { body: { transitions: false } });
  await eventually('no key is left', async () => {
    service.look();
    return (await heldCount(service)) === 0 ? true : undefined;
  });
  const path = `/api/webhooks/endpoints/${other}/reconcile`;
  const { data } = await service.call('POST', path, { body: {}, status: 400 });
  assert.match(data.transitions.message, /Only an endpoint with transitions/);
});

test('a backfill sends everything again, and a reconcile of what it has sent nothing', async (t) => {
  const service = await startWebhookService(t);
  await post(service, { title: 'a', isPublic: true });
  await post(service, { title: 'b' });
  const { id } = await service.addEndpoint(mirror);
  await reconciled(service);
  await service.call('POST', `/api/webhooks/endpoints/${id}/backfill`, { body: { collection: 'posts' } });
  await eventually('the record came twice', () =>
    service.receiver.requests.length === 2 ? true : undefined,
  );
  await service.call('POST', `/api/webhooks/endpoints/${id}/reconcile`, { body: {} });
  await reconciled(service);
  assert.deepEqual(service.receiver.requests.map(toTold).map(lineOf), ['enter a', 'create a']);
});

test('reconciles of more endpoints than may run at once all come to their end by themselves', async (t) => {
  const service = await startWebhookService(t);
  for (let count = 0; count < 7; count += 1) await service.addEndpoint(mirror);
  await reconciled(service);
  // Nothing differs: no delivery, and no look of a test, wakes the service.
  await service.call('PATCH', '/api/collections/posts', { body: { viewRule: 'rank > 1' } });
  await eventually('none is reconciling', async () => {
    const { items } = await service.call('GET', '/api/webhooks/endpoints');
    return listOf(items).every(({ reconciling }) => !reconciling);
  });
});

test('reconciles of paused endpoints keep those of others from nothing', async (t) => {
  const service = await startWebhookService(t);
  await post(service, { title: 'a', isPublic: true });
  const made: Json[] = [];
  for (let count = 0; count < 5; count += 1) made.push(await service.addEndpoint(mirror));
  await reconciled(service);
  const [last, ...others] = made;
  // They are begun, and paused before they are over.
  for (const { id } of others) {
    await service.call('POST', `/api/webhooks/endpoints/${id}/reconcile`, { body: {} });
    await service.call('POST', `/api/webhooks/endpoints/${id}/pause`, { body: {} });
  }
  await service.call('PATCH', `/api/webhooks/endpoints/${last.id}`, { body: { filter: 'isPublic = false' } });
  await eventually('the active one is reconciled', async () => {
    const { reconciling } = await service.call('GET', `/api/webhooks/endpoints/${last.id}`);
    return !reconciling;
  });
});
