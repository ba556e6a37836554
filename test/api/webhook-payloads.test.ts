// Both engines: bodies are written by SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { Webhook } from 'standardwebhooks';
import type { ReceivedRequest } from '../support/receiver.ts';
import { startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const posts = '/api/collections/posts/records';

test('an endpoint with fields gets those and the id, in the order of the record and as they are written', async (t) => {
  const service = await startWebhookService(t);
  const { secret } = await service.addEndpoint({ fields: ['extra', 'title', 'note', 'absent', 'title'] });
  const extra = { deep: [1.5, 1e21, { proto: 1 }], n: 9007199254740991 };
  const post = { title: 'Grüße "\u2028"', rank: 7, note: 'hidden', extra };
  const id = await create(service, post);
  const [request] = await service.receiver.waitForRequests(1);
  assert.ok(request);
  const body = request.body.toString();
  const data = body.slice(body.indexOf('"data":') + '"data":'.length, -1);
  assert.equal(data, JSON.stringify({ id, title: post.title, extra }));
  assert.deepEqual(Object.keys(JSON.parse(body)), [
    'event',
    'timestamp',
    'instance_id',
    'collection',
    'data',
  ]);
  verify(request, secret);
});

test('an endpoint that wants thin payloads gets the id alone, of the largest record too, and misses nothing', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint({ payload: 'thin' });
  const small = await create(service, { title: 'small' });
  const large = await create(service, { extra: 'x'.repeat(300_000) });
  const requests = await service.receiver.waitForRequests(2);
  const told = requests.map(({ body, headers }) => [
    JSON.parse(body.toString()).data,
    headers['x-service-truncated'],
  ]);
  for (const id of [small, large])
    assert.deepEqual(
      told.find(([data]) => data.id === id),
      [{ id }, undefined],
    );
});

test('every attempt and a replay have the same bytes, also after the record is another', async (t) => {
  const service = await startWebhookService(t, { mode: { kind: 'status', status: 500 } });
  await service.addEndpoint({ fields: ['rank'], schedule: [] });
  const id = await create(service, { title: 'once', rank: 1 });
  const { id: delivery } = await service.delivery('the end', ({ status }) => status === 'exhausted');
  service.receiver.mode = { kind: 'ok' };
  await service.call('POST', `/api/webhooks/deliveries/${delivery}/retry`);
  const [first, second] = await service.receiver.waitForRequests(2);
  assert.deepEqual(first?.body, second?.body);
  assert.deepEqual(JSON.parse(String(first?.body)).data, { id, rank: 1 });
});

test('with CloudEvents the headers of its binary mode are sent as well, and nobody else’s of the kind', async (t) => {
  const service = await startWebhookService(t);
  const app = 'https://app.example.com/shop';
  await service.call('PATCH', '/api/settings', { body: { meta: { appURL: `${app}/` } } });
  const { id: endpoint, secret } = await service.addEndpoint({
    cloudEvents: true,
    headers: { 'ce-id': 'mine', 'x-mine': 'yes' },
  });
  const id = await create(service, { title: 'cloud' });
  const [request] = await service.receiver.waitForRequests(1);
  assert.ok(request);
  const { timestamp, instance_id: instance } = JSON.parse(request.body.toString());
  const attributes = Object.entries(request.headers).filter(([name]) => name.startsWith('ce-'));
  assert.deepEqual(Object.fromEntries(attributes), {
    'ce-specversion': '1.0',
    'ce-id': request.headers['webhook-id'],
    'ce-source': `urn:chancery:instance:${instance}`,
    'ce-type': 'record.create',
    'ce-time': timestamp,
    'ce-subject': `posts/${id}`,
    'ce-dataschema': `${app}/api/openapi.json#/components/schemas/posts.Event`,
  });
  // Whoever may read the description of the API finds it there.
  const { components } = await service.call('GET', '/api/openapi.json');
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': /^\d{4}-\d\d-\d\dT/ } });
  assert.ok(ajv.validate(components.schemas['posts.Event'], JSON.parse(request.body.toString())));
  assert.equal(request.headers['x-mine'], 'yes');
  verify(request, secret);
  await service.call('POST', `/api/webhooks/endpoints/${endpoint}/test`);
  const ping = (await service.receiver.waitForRequests(2)).at(-1);
  assert.deepEqual(
    [ping?.headers['ce-type'], ping?.headers['ce-subject'], ping?.headers['ce-dataschema']],
    ['ping', undefined, undefined],
  );
  await service.call('PATCH', `/api/webhooks/endpoints/${endpoint}`, { body: { cloudEvents: false } });
  await create(service, { title: 'plain' });
  const plain = (await service.receiver.waitForRequests(3)).at(-1);
  assert.deepEqual([plain?.headers['ce-type'], plain?.headers['ce-id']], [undefined, 'mine']);
});

test('the feed signs what the endpoint would get', async (t) => {
  const service = await startWebhookService(t);
  const { id, secret } = await service.addEndpoint({
    fields: ['title'],
    cloudEvents: true,
    status: 'paused',
  });
  await create(service, { title: 'pulled', rank: 3 });
  const { items } = await service.call('GET', `/api/webhooks/feed?signed=${id}&wait=10`);
  const [{ body, headers }] = items;
  assert.deepEqual(Object.keys(JSON.parse(body).data), ['id', 'title']);
  assert.equal(headers['ce-type'], 'record.create');
  assert.ok(new Webhook(secret).verify(body, headers));
});

test('an option of the payload that makes no sense is refused by name', async (t) => {
  const service = await startWebhookService(t);
  for (const [body, member] of [
    [{ payload: 'fat' }, 'payload'],
    [{ payload: null }, 'payload'],
    [{ fields: 'title' }, 'fields'],
    [{ fields: ['title', 7] }, 'fields'],
    [{ fields: ['a-b'] }, 'fields'],
    [{ fields: [''] }, 'fields'],
    [{ fields: Array.from({ length: 201 }, (_, index) => `f${index}`) }, 'fields'],
    [{ fields: ['title'], payload: 'thin' }, 'fields'],
    [{ cloudEvents: 'yes' }, 'cloudEvents'],
  ] as const) {
    const url = service.receiver.url;
    const answer = await service.call('POST', '/api/webhooks/endpoints', {
      body: { url, ...body },
      status: 400,
    });
    assert.deepEqual(Object.keys(answer.data), [member], JSON.stringify(body));
  }
});

/** Returns the id of the post that it creates. */
async function create(service: WebhookService, body: object): Promise<string> {
  return (await service.call('POST', posts, { body, status: 201 })).id;
}

function verify({ body, headers }: ReceivedRequest, secret: string): void {
  // Each of these headers is sent once, so each is one text.
  assert.ok(new Webhook(secret).verify(body, headers as Record<string, string>));
}
