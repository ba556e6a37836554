// Both engines: events are read from the log.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import type { KeyScope } from '../../src/access/caller.ts';
import { noteTrimmed } from '../../src/events/trimmed.ts';
import { sealPosition } from '../../src/secrets/seal-position.ts';
import { makeKey } from '../support/make-key.ts';
import { testEngine } from '../support/test-config.ts';
import { startWebhookService, type WebhookService } from '../support/webhook-service.ts';
import { eventually } from '../support/eventually.ts';

interface Feed {
  readonly items: readonly FeedItem[];
  readonly nextCursor: string;
}

interface FeedItem {
  readonly id: string;
  readonly sequence: number;
  readonly payload: { readonly event: string; readonly data: { readonly title: string } };
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function read(service: WebhookService, query: string): Promise<Feed> {
  // spec/openapi.json describes it.
  return (await service.call('GET', `/api/webhooks/feed?${query}`)) as Feed;
}

const titlesOf = ({ items }: Feed): readonly string[] => items.map(({ payload }) => payload.data.title);

/** Reads on from a cursor until these have come: on PostgreSQL events are told when nothing can appear before them. */
async function readTitles(service: WebhookService, query: string, count: number): Promise<Feed> {
  let all: Feed = { items: [], nextCursor: '' };
  let cursor = query;
  await eventually(`${count} events`, async () => {
    const next = await read(service, cursor);
    all = { items: [...all.items, ...next.items], nextCursor: next.nextCursor };
    cursor = `cursor=${next.nextCursor}&${query.replace(/^(?:cursor|since|consumer)=[^&]*/, '')}`;
    return all.items.length >= count;
  });
  return all;
}

test('the feed tells every event once, in order, from one cursor to the next', async (t) => {
  const service = await startWebhookService(t);
  for (const title of ['a', 'b', 'c']) await service.addPost(title);
  const first = await readTitles(service, 'perPage=2', 3);
  assert.deepEqual(titlesOf(first), ['a', 'b', 'c']);
  const { id } = await service.addPost('d');
  await service.call('PATCH', `/api/collections/posts/records/${id}`, { body: { title: 'e' } });
  const next = await readTitles(service, `cursor=${first.nextCursor}`, 2);
  assert.deepEqual(titlesOf(next), ['d', 'e']);
  assert.deepEqual(
    next.items.map(({ sequence, payload }) => [sequence, payload.event]),
    [
      [1, 'record.create'],
      [2, 'record.update'],
    ],
  );
  assert.deepEqual((await read(service, `cursor=${next.nextCursor}`)).items, []);
});

test('a cursor that was given for a time while there were no events yet is good for those that follow', async (t) => {
  const service = await startWebhookService(t);
  const { nextCursor } = await read(service, 'since=9999-12-31');
  await service.addPost('first');
  assert.deepEqual(titlesOf(await readTitles(service, `cursor=${nextCursor}`, 1)), ['first']);
});

test('a request for the feed waits for the next event', async (t) => {
  const service = await startWebhookService(t);
  await service.addPost('before');
  const { nextCursor } = await readTitles(service, '', 1);
  const waiting = read(service, `cursor=${nextCursor}&wait=30`);
  await service.addPost('after');
  assert.deepEqual(titlesOf(await waiting), ['after']);
});

test('the feed tells only events and collections that are asked for, and its cursor passes over the others', async (t) => {
  const service = await startWebhookService(t);
  await service.call('POST', '/api/collections', { body: { name: 'notes', fields: [] } });
  const { id } = await service.addPost('a');
  await service.call('POST', '/api/collections/notes/records', { body: {} });
  await service.call('PATCH', `/api/collections/posts/records/${id}`, { body: { title: 'b' } });
  assert.deepEqual(titlesOf(await readTitles(service, 'events=record.update', 1)), ['b']);
  const posts = await readTitles(service, 'collections=posts', 2);
  assert.deepEqual(titlesOf(posts), ['a', 'b']);
  assert.equal((await readTitles(service, 'collections=notes', 1)).items.length, 1);
});

test('an event of the feed can be verified as a webhook of an endpoint', async (t) => {
  const service = await startWebhookService(t);
  const { id, secret } = await service.addEndpoint({ status: 'paused' });
  await service.addPost('signed');
  const [item] = (await readTitles(service, `&signed=${id}`, 1)).items;
  assert.ok(item?.body !== undefined && item.headers !== undefined);
  const verified = new Webhook(secret).verify(item.body, { ...item.headers });
  assert.deepEqual(verified, item.payload);
  assert.equal(item.headers['webhook-id'], item.id);
  await service.call('GET', '/api/webhooks/feed?signed=unknown', { status: 404 });
});

test('only a key that may see the secret of an endpoint gets events signed by it', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.addEndpoint({ status: 'paused' });
  const statusOf = async (scope: KeyScope, query: string): Promise<number> => {
    const { key } = await makeKey(service, [scope]);
    return (await service.request(`/api/webhooks/feed?${query}`, { token: key })).status;
  };
  assert.equal(await statusOf('webhooks:read', ''), 200);
  assert.equal(await statusOf('webhooks:read', `signed=${id}`), 403);
  assert.equal(await statusOf('webhooks:write', `signed=${id}`), 403, 'it cannot read the feed either');
  const { key } = await makeKey(service, ['webhooks:read', 'webhooks:write']);
  const signed = await service.request(`/api/webhooks/feed?signed=${id}`, { token: key });
  assert.deepEqual([signed.status, signed.headers.get('cache-control')], [200, 'no-store']);
});

test('an event that is too large for the endpoint is signed as it would be sent: with its id alone', async (t) => {
  const service = await startWebhookService(t, { flags: { 'webhook-body-max': '1' } });
  const { id, secret } = await service.addEndpoint();
  await service.addPost('x'.repeat(2_000));
  await service.delivery('delivered', ({ status }) => status === 'delivered');
  const [sent] = service.receiver.requests;
  const [item] = (await readTitles(service, `&signed=${id}`, 1)).items;
  assert.ok(item?.body !== undefined && item.headers !== undefined && sent !== undefined);
  assert.equal(item.body, sent.body.toString());
  assert.equal(item.headers['X-Service-Truncated'], 'data');
  new Webhook(secret).verify(item.body, { ...item.headers });
});

test('the feed tells only events of records that meet its filter, and its cursor passes over the others', async (t) => {
  const service = await startWebhookService(t);
  for (const title of ['a', 'b', 'a']) await service.addPost(title);
  const filter = `filter=${encodeURIComponent("title = 'a'")}`;
  const first = await readTitles(service, filter, 2);
  assert.deepEqual(titlesOf(first), ['a', 'a']);
  const waiting = read(service, `cursor=${first.nextCursor}&wait=30&${filter}`);
  await service.addPost('b');
  await service.addPost('a');
  assert.deepEqual(titlesOf(await waiting), ['a']);
  for (const wrong of ['nothing = 1', 'title =', "note = 'hidden'"])
    await service.call('GET', `/api/webhooks/feed?filter=${encodeURIComponent(wrong)}`, { status: 400 });
});

test('a consumer keeps its place, can be moved and forgotten, and shows how far behind it is', async (t) => {
  const service = await startWebhookService(t);
  for (const title of ['a', 'b', 'c']) await service.addPost(title);
  const path = '/api/webhooks/consumers/indexer';
  await service.call('GET', path, { status: 404 });
  assert.equal((await service.call('PUT', path)).lag, 3);
  const first = await eventually('all of it', async () => {
    const feed = await read(service, 'consumer=indexer&perPage=2');
    return feed.items.length === 2 ? feed : undefined;
  });
  assert.deepEqual(
    titlesOf(await read(service, 'consumer=indexer&perPage=2')),
    ['a', 'b'],
    'only a PUT moves it',
  );
  assert.equal((await service.call('PUT', path, { body: { cursor: first.nextCursor } })).lag, 1);
  assert.deepEqual(titlesOf(await readTitles(service, 'consumer=indexer', 1)), ['c']);
  assert.equal((await service.call('PUT', path, { body: { since: '2020-01-01 00:00:00.000Z' } })).lag, 3);
  await service.call('DELETE', path, { status: 204 });
  await service.call('DELETE', path, { status: 404 });
});

test('what makes no sense of the feed is refused by name, as is a cursor of another instance', async (t) => {
  const service = await startWebhookService(t);
  for (const [query, name] of [
    ['wait=31', 'wait'],
    ['perPage=x', 'perPage'],
    ['events=record.read', 'events'],
    ['cursor=made-up', 'cursor'],
    ['since=yesterday', 'since'],
    ['cursor=a&since=2026-01-01', 'since'],
  ] as const) {
    const refused = await service.call('GET', `/api/webhooks/feed?${query}`, { status: 400 });
    assert.deepEqual(Object.keys(refused.data), [name]);
  }
  await service.call('PUT', '/api/webhooks/consumers/no%20name', { status: 400 });
});

test('a cursor of events that a restore has lost is refused, as later events would come before it', async (t) => {
  const service = await startWebhookService(t);
  await service.addPost('first');
  const { nextCursor } = await readTitles(service, '', 1);
  assert.deepEqual((await read(service, `cursor=${nextCursor}`)).items, []);
  // Further than a sequence of PostgreSQL is ahead after a recovery.
  const lost = await service.withInstance('default', ({ sealer }) =>
    Promise.resolve(sealPosition(sealer, 10_000)),
  );
  const message = 'The cursor is ahead of the log, which was restored to an earlier time.';
  const refused = await service.call('GET', `/api/webhooks/feed?cursor=${encodeURIComponent(lost)}`, {
    status: 400,
  });
  assert.equal(refused.data.cursor.message, message);
  await service.call('PUT', '/api/webhooks/consumers/reader', { body: { cursor: lost }, status: 400 });
  if (testEngine === 'postgres') return;
  // The log has drawn this position, and keeps none of its events.
  await service.withInstance('default', ({ database }) =>
    database.write((tx) => noteTrimmed(tx, { position: 10_000, time: '2026-11-20 09:35:20.114Z' })),
  );
  assert.deepEqual((await read(service, `cursor=${encodeURIComponent(lost)}`)).items, []);
});
