import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test, type TestContext } from 'node:test';
import { expressHandler, type ReceiveOptions } from '../../kit/src/express.ts';
import { RecordOrder } from '../../kit/src/record-order.ts';
import { MemorySeen } from '../../kit/src/seen.ts';
import { hopsHeaders, verify, type Webhook } from '../../kit/src/verify.ts';
import { eventually } from '../support/eventually.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

interface Records {
  readonly posts: { readonly title: string; readonly rank: number };
}

interface KitReceiver extends WebhookService {
  readonly endpoint: Json;
  /** What the kit handed over, in the order of its arrival. */
  readonly webhooks: readonly Webhook<Records>[];
}

const records = '/api/collections/posts/records';

test('every kind of event is verified, with its collection, its place among the changes of the record and its delivery', async (t) => {
  const service = await startKitReceiver(t, { endpoint: { order: 'strict' } });
  const { id } = await service.addPost('Grüße 🌍');
  await service.call('PATCH', `${records}/${id}`, { body: { title: 'changed' } });
  await service.call('DELETE', `${records}/${id}`, { status: 204 });
  await eventually('three webhooks', () => service.webhooks.length === 3);
  const ping = await service.call('POST', `/api/webhooks/endpoints/${service.endpoint.id}/test`, {
    body: {},
  });
  assert.equal(ping.status, 'delivered');
  const deliveries = await eventually('three deliveries', async () => {
    const done = await service.deliveries(`status = 'delivered' && kind != 'ping'`);
    return done.length === 3 && done;
  });
  const received = service.webhooks.map(({ id, delivery, attempt, sequence, isTruncated, event }) => ({
    id,
    delivery,
    attempt,
    sequence,
    isTruncated,
    kind: event.event,
  }));
  assert.deepEqual(
    received.slice(0, 3),
    deliveries.map((delivery, index) => ({
      id: delivery.event,
      delivery: delivery.id,
      attempt: 1,
      sequence: index + 1,
      isTruncated: false,
      kind: delivery.kind,
    })),
  );
  assert.deepEqual([received[3]?.kind, received[3]?.sequence], ['ping', 0]);
  const titles = service.webhooks.map(({ event }) => (event.collection === 'posts' ? event.data.title : ''));
  assert.deepEqual(titles, ['Grüße 🌍', 'changed', 'changed', '']);
});

test('who has changed what is told, with the values before, and what a receiver writes back has one hop more', async (t) => {
  const service = await startKitReceiver(t, { endpoint: { order: 'strict', payload: 'previous' } });
  const { id } = await service.addPost('first');
  await service.call('PATCH', `${records}/${id}`, { body: { title: 'second', note: 'hidden' } });
  const [created, updated] = await eventually(
    'two webhooks',
    () => service.webhooks.length === 2 && service.webhooks,
  );
  assert.ok(created !== undefined && updated !== undefined && !updated.isTruncated);
  assert.deepEqual(
    [created.actor, created.hops, created.changed, created.backfill, created.isTest],
    ['superuser', 1, [], undefined, false],
  );
  assert.deepEqual([updated.hops, updated.changed, updated.isChangedCut], [1, ['title'], false]);
  assert.ok(updated.event.collection === 'posts');
  assert.deepEqual([updated.event.data.title, updated.event.previous], ['second', { title: 'first' }]);

  const body = { rank: 1 };
  await service.request(`${records}/${id}`, {
    method: 'PATCH',
    token: true,
    headers: hopsHeaders(updated),
    body,
  });
  await service.call('POST', `/api/webhooks/endpoints/${service.endpoint.id}/test`);
  const all = await eventually('four webhooks', () => service.webhooks.length === 4 && service.webhooks);
  const back = all.find(({ hops }) => hops === 2);
  assert.deepEqual([back?.event.data['id'], back?.changed], [id, ['rank']]);
  const ping = all.find(({ event }) => event.event === 'ping');
  assert.deepEqual([ping?.actor, ping?.hops, ping?.isTest], [undefined, undefined, false]);
});

test('a receiver with another secret refuses, and the delivery log shows its owner why', async (t) => {
  const service = await startKitReceiver(t, {
    receive: { secret: 'a secret of another endpoint' },
    endpoint: { schedule: [] },
  });
  await service.addPost();
  const { id } = await service.delivery('the refusal', ({ status }) => status === 'exhausted');
  const { attempts } = await service.call('GET', `/api/webhooks/deliveries/${id}`);
  assert.equal(attempts[0].status, 401);
  assert.match(attempts[0].responseBody, /No signature was made with the secret over this body/);
  assert.deepEqual(service.webhooks, []);
});

test('what failed is handled at a later attempt, and a replay of it is not handled again', async (t) => {
  let isAway = true;
  const handled: unknown[] = [];
  const onWebhook = ({ attempt }: Webhook): void => {
    if (isAway) throw new Error('the database is away');
    handled.push(attempt);
  };
  const receive = { onWebhook, seen: new MemorySeen() };
  const service = await startKitReceiver(t, { receive, endpoint: { schedule: [] } });
  await service.addPost();
  const { id } = await service.delivery('a failure', ({ status }) => status === 'exhausted');
  isAway = false;
  await service.call('POST', `/api/webhooks/deliveries/${id}/retry`);
  await service.delivery('the retry', ({ status }) => status === 'delivered');
  const replay = { body: { scope: 'all' } };
  await service.call('POST', `/api/webhooks/endpoints/${service.endpoint.id}/replay`, replay);
  const again = await eventually('the replay', async () => {
    const all = await service.deliveries(`status = 'delivered'`);
    const bodies = await Promise.all(
      all.map((one) => service.call('GET', `/api/webhooks/deliveries/${one.id}`)),
    );
    const texts = bodies.flatMap(({ attempts }) => listOf(attempts).map((attempt) => attempt.responseBody));
    return texts.includes('The same webhook was handled before.') && texts;
  });
  assert.ok(again.includes('ok'));
  assert.deepEqual(handled, [2]);
});

test('an older state that comes after a later one is dropped', async (t) => {
  const gate = Promise.withResolvers<void>();
  const titles: unknown[] = [];
  const onWebhook = ({ event }: Webhook<Records>): void => {
    if (event.collection === 'posts') titles.push(event.data.title);
  };
  // The first attempt of the creation fails, so that the change overtakes it.
  const seen = {
    isFirst: true,
    seen: () => {
      if (!seen.isFirst) return 'new' as const;
      seen.isFirst = false;
      gate.resolve();
      throw new Error('the database is away');
    },
    settle: () => undefined,
    release: () => undefined,
  };
  const receive = { onWebhook, seen, order: new RecordOrder() };
  const service = await startKitReceiver(t, { receive, endpoint: { schedule: [3_600] } });
  const { id } = await service.addPost('first');
  await gate.promise;
  await service.call('PATCH', `${records}/${id}`, { body: { title: 'second' } });
  await eventually('the change', () => titles.includes('second'));
  const [creation] = await service.deliveries(`kind = 'record.create'`);
  await service.call('POST', `/api/webhooks/deliveries/${creation.id}/retry`);
  await eventually('the creation', async () => {
    const { attempts } = await service.call('GET', `/api/webhooks/deliveries/${creation.id}`);
    return attempts[1]?.responseBody === 'A later state of the record was handled before.';
  });
  assert.deepEqual(titles, ['second']);
});

test('a record that was too large is told of by its id alone', async (t) => {
  const service = await startKitReceiver(t);
  const body = { title: 'large', extra: 'x'.repeat(256 * 1024) };
  const { id } = await service.call('POST', records, { body, status: 201 });
  const [webhook] = await eventually('the webhook', () => service.webhooks.length === 1 && service.webhooks);
  assert.equal(webhook?.isTruncated, true);
  assert.deepEqual(webhook.event.data, { id });
});

test('items of the feed that are signed like a webhook are verified like one', async (t) => {
  const service = await startKitReceiver(t);
  const { id } = await service.addPost('pulled');
  const { items } = await service.call('GET', `/api/webhooks/feed?signed=${service.endpoint.id}`);
  const [{ headers, body }] = items;
  const { event } = await verify<Records>(service.endpoint.secret, headers, body);
  assert.equal(event.data.id, id);
  const forged = String(body).replace('pulled', 'forged');
  await assert.rejects(verify(service.endpoint.secret, headers, forged), { code: 'wrong_signature' });
});

interface KitReceiverOptions {
  readonly receive?: Partial<ReceiveOptions<Records>>;
  readonly endpoint?: Readonly<Record<string, unknown>>;
}

/** A service with an endpoint at a server whose handler is the kit's. */
async function startKitReceiver(t: TestContext, options: KitReceiverOptions = {}): Promise<KitReceiver> {
  const webhooks: Webhook<Records>[] = [];
  let secret = '';
  const handle = expressHandler<Records>({
    secret: () => secret,
    onWebhook: (webhook) => webhooks.push(webhook),
    ...options.receive,
  });
  const server = createServer((request, response) => {
    void handle(request, response, () => response.writeHead(500).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const service = await startWebhookService(t);
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const url = `http://127.0.0.1:${address.port}/hook`;
  const endpoint = await service.addEndpoint({ url, ...options.endpoint });
  secret = endpoint.secret;
  return { ...service, endpoint, webhooks };
}
