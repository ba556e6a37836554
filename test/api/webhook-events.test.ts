// Both engines: the log is listed by SQL.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { makeKey } from '../support/make-key.ts';
import { listOf, startWebhookService } from '../support/webhook-service.ts';

interface Item {
  readonly id: string;
  readonly kind: string;
  readonly revision: number;
  readonly record: string;
  readonly deliveries: readonly Readonly<Record<string, unknown>>[];
}

function itemsOf(page: { readonly items: readonly unknown[] }): readonly Item[] {
  // spec/openapi.json describes them.
  return page.items as readonly Item[];
}

test('the log of events is listed with what became of each, and of one record it is its story', async (t) => {
  const service = await startWebhookService(t);
  const { id: endpoint } = await service.addEndpoint();
  const { id } = await service.addPost('one');
  await service.addPost('other');
  await service.call('PATCH', `/api/collections/posts/records/${id}`, { body: { title: 'two' } });
  await eventually(
    'all are delivered',
    async () => (await service.deliveries("status = 'delivered'")).length === 3,
  );
  const all = await service.call('GET', '/api/webhooks/events');
  assert.equal(all.totalItems, 3);
  const story = await service.call('GET', `/api/webhooks/events?record=posts/${id}&sort=-created`);
  assert.deepEqual(
    itemsOf(story).map(({ kind, revision, record }) => [kind, revision, record]),
    [
      ['record.update', 2, id],
      ['record.create', 1, id],
    ],
  );
  const [last] = itemsOf(story);
  assert.deepEqual(
    last?.deliveries.map((one) => [one['id'], one['endpoint'], one['status']]),
    [[`${last?.id}-${endpoint}`, endpoint, 'delivered']],
  );
  const event = await service.call('GET', `/api/webhooks/events/${last?.id}`);
  assert.equal(event.body.data.title, 'two');
  assert.deepEqual({ ...event, body: undefined }, { ...last, body: undefined });
  assert.equal((await service.call('GET', '/api/webhooks/events?record=posts/none')).totalItems, 0);
  assert.equal((await service.call('GET', "/api/webhooks/events?filter=kind='record.update'")).totalItems, 1);
  assert.equal((await service.call('GET', '/api/webhooks/events?record=')).totalItems, 3);
  await service.call('GET', '/api/webhooks/events/unknown', { status: 404 });
});

test('a cursor goes through the log of events, each once, whatever is added meanwhile', async (t) => {
  const service = await startWebhookService(t);
  for (let number = 0; number < 7; number += 1) await service.addPost(`post ${number}`);
  const { items } = await service.call('GET', '/api/webhooks/events?sort=-created');
  const walked: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const path: string = `/api/webhooks/events?sort=-created&perPage=3&cursor=${cursor}`;
    const page = await service.call('GET', path);
    assert.deepEqual(Object.keys(page), ['items', 'perPage', 'nextCursor']);
    walked.push(...itemsOf(page).map(({ id }) => id));
    cursor = page.nextCursor;
    if (cursor !== null) {
      // A cursor of one list means nothing in another.
      for (const other of ["&filter=kind='record.create'", '&record=posts/none'])
        await service.call('GET', `${path.replace(/cursor=.*/, `cursor=${cursor}`)}${other}`, {
          status: 400,
        });
      await service.addPost('later');
    }
  }
  assert.deepEqual(
    walked,
    itemsOf({ items }).map(({ id }) => id),
  );
});

test('a cursor goes through the deliveries of several endpoints, each once', async (t) => {
  const service = await startWebhookService(t);
  for (const path of ['/a', '/b', '/c'])
    await service.addEndpoint({ url: service.receiver.urlAt('127.0.0.1', path) });
  for (let number = 0; number < 3; number += 1) await service.addPost(`post ${number}`);
  for (const sort of ['created', '-created', 'endpoint,-created']) {
    const ids: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const path: string = `/api/webhooks/deliveries?sort=${sort}&perPage=2&cursor=${cursor}`;
      const page = await service.call('GET', path);
      ids.push(...listOf(page.items).map(({ id }) => String(id)));
      cursor = page.nextCursor;
    }
    assert.equal(ids.length, 9, sort);
    assert.equal(new Set(ids).size, 9, sort);
  }
});

test('the log is searched for a text in the bodies of events, by whoever may read them whole', async (t) => {
  const service = await startWebhookService(t);
  const { id: endpoint } = await service.addEndpoint();
  await service.addPost('order 4711 of Łódź');
  const { id } = await service.addPost('order 4712');
  const find = async (path: string, text: string, token: true | string = true) =>
    service.request(`${path}?filter=${encodeURIComponent(`body ~ '${text}'`)}`, { token });
  for (const path of ['/api/webhooks/events', '/api/webhooks/deliveries']) {
    assert.deepEqual(
      listOf((await find(path, 'ORDER 4712')).json.items).map(({ record }) => record),
      [id],
    );
    assert.equal((await find(path, '4711 of łódź')).json.totalItems, 1);
    assert.equal((await find(path, '471')).json.totalItems, 2);
    assert.equal((await find(path, '4713')).json.totalItems, 0);
    const sorted = await service.call('GET', `${path}?sort=body`, { status: 400 });
    assert.equal(sorted.data.sort.message, 'The log can be searched by the body, not sorted.');
    const reader = await makeKey(service, ['webhooks:read']);
    assert.equal((await find(path, '4712', reader.key)).json.totalItems, 1);
    const bound = await makeKey(service, ['webhooks:read'], { endpoints: [endpoint] });
    assert.equal((await find(path, '4712', bound.key)).status, 400);
  }
});
