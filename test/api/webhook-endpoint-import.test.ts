// Both engines: endpoints are changed in one transaction.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const path = '/api/webhooks/endpoints';

async function apply(service: WebhookService, endpoints: readonly Json[], more = {}): Promise<Json> {
  return service.call('PUT', `${path}/import`, { body: { endpoints, ...more } });
}

async function problemsOf(service: WebhookService, body: Json): Promise<Json> {
  const answer = await service.call('PUT', `${path}/import`, { body, status: 400 });
  assert.equal(answer.message, 'Failed to import endpoints.');
  return answer.data;
}

async function all(service: WebhookService): Promise<readonly Json[]> {
  return (await service.call('GET', `${path}?perPage=100`)).items;
}

function namesOf(items: readonly Json[]): readonly string[] {
  return items.map(({ name }) => name);
}

test('a name is its endpoint’s alone, can be filtered and sorted by, and is free again once it is given up', async (t) => {
  const service = await startWebhookService(t);
  const first = await service.addEndpoint({ name: 'shop.berlin_1-a' });
  assert.equal(first.name, 'shop.berlin_1-a');
  const [unnamed, other] = [await service.addEndpoint(), await service.addEndpoint({ name: 'other' })];
  assert.equal(unnamed.name, '');
  const taken = { code: 'validation_not_unique', message: 'Another endpoint has this name.' };
  const body = { url: service.receiver.url, name: first.name };
  assert.deepEqual((await service.call('POST', path, { body, status: 400 })).data, { name: taken });
  const change = { body: { name: first.name }, status: 400 };
  assert.deepEqual((await service.call('PATCH', `${path}/${other.id}`, change)).data, { name: taken });
  assert.deepEqual((await service.call('POST', `${path}/check`, { body })).problems, { name: taken });
  const own = await service.call('POST', `${path}/check`, { body: { id: first.id, name: first.name } });
  assert.deepEqual(own.problems, {});
  assert.equal(
    (await service.call('PATCH', `${path}/${first.id}`, { body: { name: first.name } })).name,
    first.name,
  );
  const found = await service.call('GET', `${path}?sort=-name&filter=${encodeURIComponent("name != ''")}`);
  assert.deepEqual(namesOf(found.items), ['shop.berlin_1-a', 'other']);
  for (const name of ['a b', 'ä', '/', 'a'.repeat(101), 7, null, ['a']]) {
    const refused = await service.call('POST', path, { body: { ...body, name }, status: 400 });
    assert.match(refused.data.name.message, /^Must be 1 to 100 letters/, String(name));
  }
  await service.call('PATCH', `${path}/${first.id}`, { body: { name: '' } });
  assert.equal((await service.addEndpoint({ name: first.name })).name, first.name);
});

test('an import makes, changes and keeps endpoints by their names, and leaves those without one alone', async (t) => {
  const service = await startWebhookService(t);
  const { url } = service.receiver;
  const unnamed = await service.addEndpoint({ description: 'by hand' });
  const definitions = [
    { name: 'shop', url, description: 'the shop', collections: ['posts'], order: 'record' },
    { name: 'mail', url, status: 'paused', secret: 'a secret of 24 letters!!' },
  ];
  const made = await apply(service, definitions);
  assert.deepEqual(namesOf(made.created), ['shop', 'mail']);
  assert.deepEqual([made.updated, made.unchanged, made.deleted], [[], [], []]);
  assert.match(made.created[0].secret, /^whsec_/);
  assert.deepEqual(made.created[0].warnings, []);
  assert.equal(made.created[1].secret, 'a secret of 24 letters!!');
  assert.match(made.created[1].warnings[0], /whsec_/);
  const before = await all(service);
  assert.deepEqual(
    [namesOf(before), before.map(({ status }) => status)],
    [
      ['', 'shop', 'mail'],
      ['active', 'active', 'paused'],
    ],
  );

  const again = await apply(service, definitions);
  assert.deepEqual([again.created, again.updated, namesOf(again.unchanged)], [[], [], ['shop', 'mail']]);
  assert.deepEqual(await all(service), before);

  // What is left out goes to its default; secret and status stay, whatever is shown of the status.
  const changed = await apply(service, [
    { name: 'shop', url: `${url}new`, status: 'disabled', secret: null },
    { ...before[2], status: 'active' },
  ]);
  const [shop] = changed.updated;
  assert.deepEqual(listOf(shop.changed).map(String).toSorted(), [
    'collections',
    'description',
    'order',
    'url',
  ]);
  assert.deepEqual(namesOf(changed.unchanged), ['mail']);
  const after = await all(service);
  assert.deepEqual([after[1].status, after[1].description, after[1].order], ['active', '', 'none']);
  assert.deepEqual(after[2], before[2]);
  const secret = await service.call('GET', `${path}/${shop.id}/secret`);
  assert.equal(secret.secret, made.created[0].secret);

  const kept = await apply(service, [{ name: 'mail', url }]);
  assert.deepEqual([kept.deleted, (await all(service)).length], [[], 3]);
  const pruned = await apply(service, [{ name: 'mail', url }], { deleteMissing: true });
  assert.deepEqual([namesOf(pruned.deleted), namesOf(pruned.unchanged)], [['shop'], ['mail']]);
  assert.deepEqual(
    (await all(service)).map(({ id }) => id),
    [unnamed.id, before[2].id],
  );
  const audit = await service.call('GET', '/api/audit?perPage=200&sort=created&filter=action~"endpoint."');
  assert.deepEqual(
    listOf(audit.items).map(({ action }) => action),
    ['create', 'create', 'create', 'update', 'secret', 'delete'].map((action) => `endpoint.${action}`),
  );
});

test('an import tells of the events that follow, and no more those that it deletes', async (t) => {
  const service = await startWebhookService(t);
  await apply(service, [{ name: 'shop', url: service.receiver.url }]);
  await service.addPost('one');
  await service.delivery('the first', ({ status }) => status === 'delivered');
  await apply(service, [{ name: 'shop', url: service.receiver.url, events: ['record.delete'] }]);
  await service.addPost('two');
  await apply(service, [], { deleteMissing: true });
  await service.addPost('three');
  assert.equal((await service.deliveries()).length, 1);
});

test('a dry run says what an import would do, shows no secret and changes nothing', async (t) => {
  const service = await startWebhookService(t);
  const { url } = service.receiver;
  await apply(
    service,
    ['a', 'b', 'c'].map((name) => ({ name, url })),
  );
  const before = await all(service);
  const definitions = [
    { name: 'a', url },
    { name: 'b', url, maxInFlight: 2 },
    { name: 'd', url, secret: 'a secret of 24 letters!!' },
  ];
  const more = { deleteMissing: true, dryRun: true };
  const [a, b, c] = before.map(({ id, name }) => ({ id, name }));
  assert.deepEqual(await apply(service, definitions, more), {
    created: [{ name: 'd' }],
    updated: [{ ...b, changed: ['maxInFlight'] }],
    unchanged: [a],
    deleted: [c],
  });
  assert.deepEqual(await all(service), before);
  const audit = await service.call('GET', '/api/audit?filter=action~"endpoint."');
  assert.equal(audit.totalItems, 3);
});

test('masked headers of a definition stay, others are replaced, and a new endpoint has none to keep', async (t) => {
  const service = await startWebhookService(t);
  const { url } = service.receiver;
  const headers = { authorization: 'Bearer f00d', 'x-shop': 'berlin' };
  await apply(service, [{ name: 'shop', url, headers }]);
  const [shown] = await all(service);
  assert.deepEqual(shown.headers, { authorization: '********', 'x-shop': 'berlin' });
  assert.equal((await apply(service, [shown])).unchanged.length, 1);
  const changed = await apply(service, [{ name: 'shop', url, headers: { authorization: '********' } }]);
  assert.deepEqual(changed.updated[0].changed, ['headers']);
  await service.addPost();
  await service.delivery('it', ({ status }) => status === 'delivered');
  const [request] = service.receiver.requests;
  assert.deepEqual(
    [request?.headers['authorization'], request?.headers['x-shop']],
    [headers.authorization, undefined],
  );
  const data = await problemsOf(service, { endpoints: [{ ...shown, name: 'copy' }] });
  assert.deepEqual(Object.keys(data.endpoints[0]), ['headers']);
});

test('one wrong definition refuses all of them, and each problem stands at its definition', async (t) => {
  const service = await startWebhookService(t);
  const { url } = service.receiver;
  const existing = await service.addEndpoint({ name: 'shop' });
  const data = await problemsOf(service, {
    endpoints: [
      { name: 'good', url },
      { name: 'shop', url, secret: 'another secret of 16' },
      { name: 'mail', url, status: 'disabled', secret: 'short', maxInFlight: 0, colour: 'red' },
      { name: 'shop.2' },
      { name: 'a b', url },
    ],
  });
  const names = Object.entries(data.endpoints).map(([at, problems]) => [
    at,
    Object.keys(Object(problems)).toSorted(),
  ]);
  assert.deepEqual(names, [
    ['1', ['secret']],
    ['2', ['colour', 'maxInFlight', 'secret', 'status']],
    ['3', ['url']],
    ['4', ['name']],
  ]);
  assert.equal(data.endpoints[1].secret.message, 'Only its rotation changes it.');
  assert.deepEqual(namesOf(await all(service)), ['shop']);
  // One that there is must say where it is as well: nothing is taken from what it was.
  const whole = await problemsOf(service, { endpoints: [{ name: 'shop' }] });
  assert.deepEqual(Object.keys(whole.endpoints[0]), ['url']);
  assert.equal((await apply(service, [{ name: 'shop', url, secret: existing.secret }])).unchanged.length, 1);
});

test('definitions need names, each its own, and the body has its form', async (t) => {
  const service = await startWebhookService(t);
  const { url } = service.receiver;
  const twice = await problemsOf(service, {
    endpoints: [{ name: 'a', url }, { url }, { name: '', url }, { name: 'a', url }, 'b', null],
  });
  const messages = Object.entries(twice.endpoints).map(([at, one]: Json) => [at, (one.name ?? one).message]);
  assert.deepEqual(messages, [
    ['1', 'Cannot be blank.'],
    ['2', 'Cannot be blank.'],
    ['3', 'The endpoint at 0 has the same name.'],
    ['4', 'Must be an object.'],
    ['5', 'Must be an object.'],
  ]);
  const wrong = await problemsOf(service, { endpoints: {}, deleteMissing: 1, dryRun: 'no', all: true });
  assert.deepEqual(Object.keys(wrong).toSorted(), ['all', 'deleteMissing', 'dryRun', 'endpoints']);
  const many = Array.from({ length: 1_001 }, (_, at) => ({ name: `n${at}`, url }));
  assert.match((await problemsOf(service, { endpoints: many })).endpoints.message, /at most 1000/);
});

test('an import that would leave more than a thousand endpoints is refused', async (t) => {
  const service = await startWebhookService(t);
  const { url } = service.receiver;
  await service.addEndpoint();
  const many = Array.from({ length: 1_000 }, (_, at) => ({ name: `n${at}`, url }));
  const answer = await service.call('PUT', `${path}/import`, { body: { endpoints: many }, status: 400 });
  assert.match(answer.message, /There can be at most 1000 endpoints\.$/);
  assert.equal((await apply(service, many.slice(1))).created.length, 999);
  const replaced = [...many.slice(2), { name: 'last', url }];
  const swapped = await apply(service, replaced, { deleteMissing: true });
  assert.deepEqual([namesOf(swapped.created), namesOf(swapped.deleted)], [['last'], ['n1']]);
});
