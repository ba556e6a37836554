import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { listOf, startWebhookService } from '../support/webhook-service.ts';

const types = '/api/webhooks/event-types';

const things = {
  name: 'things',
  type: 'base',
  fields: [
    { name: 'title', type: 'text', required: true },
    { name: 'text', type: 'editor' },
    { name: 'price', type: 'number' },
    { name: 'isNew', type: 'bool' },
    { name: 'mail', type: 'email' },
    { name: 'site', type: 'url' },
    { name: 'day', type: 'date' },
    { name: 'state', type: 'select', values: ['open', 'closed'], maxSelect: 1 },
    { name: 'tags', type: 'select', values: ['sea', 'land'], maxSelect: 2 },
    { name: 'photos', type: 'file', maxSelect: 2 },
    { name: 'extra', type: 'json' },
    { name: 'place', type: 'geoPoint' },
    { name: 'note', type: 'text', hidden: true },
    { name: 'made', type: 'autodate', onCreate: true },
  ],
};

const aboutEndpoints = [
  'attempt.failed',
  'delivery.exhausted',
  'endpoint.certificate_expiring',
  'endpoint.disabled',
  'endpoint.failing',
  'endpoint.recovered',
];

test('each kind of event has a schema that its example and what is really sent follow', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint();
  await service.call('POST', '/api/collections', { body: things });
  const { items, omitted } = await service.call('GET', types);
  assert.equal(omitted, 0);
  const kinds = ['record.create', 'record.update', 'record.delete'];
  const expected = ['users', 'posts', 'things'].flatMap((name) => kinds.map((kind) => `${name} ${kind}`));
  const listed = listOf(items).map(({ collection, type }) => `${collection} ${type}`.trim());
  assert.deepEqual(listed.toSorted(), [...expected, ...aboutEndpoints, 'ping'].toSorted());
  for (const { schema, example } of items) assertFollows(schema, example);

  const ofThings = listOf((await service.call('GET', `${types}?collection=things`)).items);
  assert.equal(ofThings.length, 4);
  const { data } = ofThings[0].example;
  assert.deepEqual(
    [data.mail, data.state, data.tags, data.place, 'note' in data],
    ['ada@example.com', 'open', ['sea'], { lon: 13.4, lat: 52.5 }, false],
  );
  const body = { title: 'first', tags: ['land'], price: 1.5, note: 'hidden' };
  const { id } = await service.call('POST', '/api/collections/things/records', { body, status: 201 });
  await service.call('PATCH', `/api/collections/things/records/${id}`, { body: { title: 'second' } });
  await service.call('DELETE', `/api/collections/things/records/${id}`, { status: 204 });
  for (const request of await service.receiver.waitForRequests(3)) {
    const sent = JSON.parse(request.body.toString());
    assertFollows(ofThings.find(({ type }) => type === sent.event).schema, sent);
  }
});

test('the document of an instance describes what is sent to endpoints, and that of the service has no collection', async (t) => {
  const service = await startWebhookService(t);
  const { webhooks, components } = await service.call('GET', '/api/openapi.json');
  assert.deepEqual(Object.keys(webhooks).toSorted(), [...aboutEndpoints, 'posts', 'users']);
  const { schema } = webhooks.posts.post.requestBody.content['application/json'];
  assert.deepEqual(schema, { $ref: '#/components/schemas/posts.Event' });
  assert.deepEqual(components.schemas['posts.Event'].properties.collection, {
    type: 'string',
    const: 'posts',
  });
  assert.ok(!('note' in components.schemas['posts.Event'].properties.data.properties));
  const guest = (await service.request('/api/openapi.json')).json;
  assert.equal(guest.webhooks, undefined);
});

test('a collection that there is not is told, and one whose changes are told to nobody has the test event alone', async (t) => {
  const service = await startWebhookService(t);
  await service.call('GET', `${types}?collection=nothing`, { status: 404 });
  const { items } = await service.call('GET', `${types}?collection=_superusers`);
  assert.deepEqual(
    listOf(items).map(({ type }) => type),
    ['ping'],
  );
});

function assertFollows(schema: object, value: unknown): void {
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': /^\d{4}-\d\d-\d\dT/ } });
  assert.ok(ajv.validate(schema, value), `${ajv.errorsText()}: ${JSON.stringify(value)}`);
}
