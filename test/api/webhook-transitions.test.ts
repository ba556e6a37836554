// Both engines: keys are written and read in the transaction of the change.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copied, lineOf, toldAll } from '../support/mirror-stage.ts';
import { listOf, startWebhookService } from '../support/webhook-service.ts';

const posts = '/api/collections/posts/records';
const mirror = { transitions: true, filter: 'isPublic = true', collections: ['posts'], order: 'record' };

test('a receiver is told when a record comes to match its filter, and when it matches no more', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint(mirror);
  const change = (id: string, body: object): Promise<unknown> =>
    service.call('PATCH', `${posts}/${id}`, { body });
  const { id } = await service.addPost('draft');
  await change(id, { title: 'hidden' });
  await change(id, { title: 'first', isPublic: true });
  await change(id, { title: 'second' });
  await change(id, { title: 'secret', isPublic: false });
  await change(id, { title: 'more secret' });
  await change(id, { title: 'third', isPublic: true });
  await service.call('DELETE', `${posts}/${id}`);
  const told = await toldAll(service.receiver, 5);
  assert.deepEqual(told.map(lineOf), [
    'enter first',
    'update second',
    'leave second',
    'enter third',
    'delete third',
  ]);
  assert.deepEqual(
    told.map(({ kind, revision }) => `${kind.slice(7)} ${revision}`),
    ['create 3', 'update 4', 'delete 5', 'create 7', 'delete 8'],
  );
  await copied(service, '');
});

test('what never matched is not sent, nor its deletion', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint(mirror);
  const { id } = await service.addPost('draft');
  await service.call('DELETE', `${posts}/${id}`);
  await service.call('POST', posts, { body: { title: 'shown', isPublic: true } });
  const told = await toldAll(service.receiver, 1);
  assert.deepEqual(told.map(lineOf), ['create shown']);
  assert.equal(told[0]?.transition, undefined);
  await copied(service, 'shown');
});

test('transitions need a filter or an owner, all events of records, and a filter about a state', async (t) => {
  const service = await startWebhookService(t);
  const refused = async (settings: object, name: string, problem: RegExp): Promise<void> => {
    const body = { url: service.receiver.url, transitions: true, ...settings };
    const { data } = await service.call('POST', '/api/webhooks/endpoints', { body, status: 400 });
    assert.deepEqual(Object.keys(data), [name]);
    assert.match(data[name].message, problem);
  };
  await refused({}, 'transitions', /Requires a filter or an owner/);
  await refused({ filter: 'rank > 1', events: ['record.create'] }, 'transitions', /Requires the events/);
  for (const filter of [
    '@old.rank > 1',
    'rank:changed = true',
    "rank > 1 || strftime('%Y', @old.title) = '1'",
  ])
    await refused({ filter, collections: ['posts'] }, 'filter', /no record matches them by itself/);
  const { id } = await service.addEndpoint(mirror);
  const path = `/api/webhooks/endpoints/${id}`;
  await service.call('PATCH', path, { body: { filter: '@old.rank > 1' }, status: 400 });
  assert.equal((await service.call('GET', path)).transitions, true);
});

test('one event of a transition is sent to all endpoints for which it is one', async (t) => {
  const service = await startWebhookService(t);
  for (let count = 0; count < 3; count += 1) await service.addEndpoint(mirror);
  await service.addEndpoint({ collections: ['posts'] });
  const { id } = await service.addPost('first');
  await service.call('PATCH', `${posts}/${id}`, { body: { isPublic: true } });
  const told = await toldAll(service.receiver, 5);
  assert.deepEqual(told.map(lineOf).toSorted(), [
    'create first',
    'enter first',
    'enter first',
    'enter first',
    'update first',
  ]);
  assert.equal((await service.deliveries()).length, 5);
  const { items } = await service.call('GET', '/api/webhooks/events');
  assert.deepEqual(
    listOf(items).map(({ kind }) => kind),
    ['record.create', 'record.update', 'enter'],
  );
});
