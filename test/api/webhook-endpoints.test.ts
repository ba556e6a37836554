// Both engines: endpoints are rows, listed by SQL.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import { sql } from '../../src/sql/sql.ts';
import { listOf, startWebhookService } from '../support/webhook-service.ts';
import { newId } from '../../src/base/ids.ts';

const idForm = /^[a-z0-9]{15}$/;
const timestampForm = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z$/;
const madeSecretForm = /^whsec_[A-Za-z0-9+/]{43}=$/;

test('an endpoint is created with defaults, and its secret is shown then and by its own route only', async (t) => {
  const service = await startWebhookService(t);
  const created = await service.addEndpoint();
  const { id, secret, created: since, updated, ...rest } = created;
  assert.match(id, idForm);
  assert.match(secret, madeSecretForm);
  assert.match(since, timestampForm);
  assert.equal(updated, since);
  assert.deepEqual(rest, {
    name: '',
    url: service.receiver.url,
    description: '',
    events: ['record.create', 'record.update', 'record.delete'],
    collections: [],
    filter: '',
    headers: {},
    oauth2: null,
    clientCertificate: null,
    ca: '',
    maxInFlight: 16,
    timeoutMs: 15_000,
    schedule: null,
    transitions: false,
    order: 'none',
    payload: 'full',
    fields: [],
    owner: '',
    cloudEvents: false,
    ed25519: false,
    batch: null,
    coalesce: false,
    onExhausted: 'skip',
    maxAgeSeconds: null,
    rateLimit: 0,
    contact: '',
    status: 'active',
    statusReason: '',
    verified: '',
    reconciling: false,
    previousSecretUntil: '',
    warnings: [],
  });
  const path = `/api/webhooks/endpoints/${id}`;
  const { secret: _, warnings: __, ...shown } = created;
  assert.deepEqual(await service.call('GET', path), shown);
  assert.deepEqual((await service.call('GET', '/api/webhooks/endpoints')).items, [shown]);
  assert.equal((await service.call('PATCH', path, { body: {} })).secret, undefined);
  assert.equal((await service.call('POST', `${path}/pause`, { body: {} })).secret, undefined);
  assert.equal((await service.call('POST', `${path}/resume`, { body: {} })).secret, undefined);
  const answer = await service.request(`${path}/secret`, { token: true });
  assert.deepEqual(answer.json, { secret });
  assert.equal(answer.headers.get('cache-control'), 'no-store');
});

test('every member is kept as it was given, and changed by a PATCH that leaves the others alone', async (t) => {
  const service = await startWebhookService(t);
  const settings = {
    url: `${service.receiver.url}?a=1`,
    description: 'to the warehouse',
    events: ['record.create'],
    headers: { 'x-tenant': 'acme' },
    maxInFlight: 3,
    timeoutMs: 2_000,
    schedule: [1, 60],
  };
  const created = await service.addEndpoint(settings);
  for (const [name, value] of Object.entries(settings)) assert.deepEqual(created[name], value, name);
  const path = `/api/webhooks/endpoints/${created.id}`;
  const changed = await service.call('PATCH', path, { body: { description: '', schedule: null } });
  const { secret: _, warnings: __, ...shown } = created;
  assert.deepEqual(changed, { ...shown, description: '', schedule: null, updated: changed.updated });
  assert.equal((await service.call('PATCH', path, { body: { timeoutMs: 0 }, status: 400 })).status, 400);
  assert.deepEqual(await service.call('GET', path), changed);
});

test('an endpoint that is made paused is sent nothing before it is resumed, and a PATCH of its own view leaves it so', async (t) => {
  const service = await startWebhookService(t);
  const { id, status } = await service.addEndpoint({ status: 'paused' });
  assert.equal(status, 'paused');
  const path = `/api/webhooks/endpoints/${id}`;
  await service.addPost('waits');
  const changed = await service.call('PATCH', path, { body: await service.call('GET', path) });
  assert.equal(changed.status, 'paused');
  // What reaches this one was looked for in the same look.
  await service.addEndpoint({ status: 'active', url: service.receiver.urlAt('127.0.0.1', '/other') });
  await service.addPost('told');
  await service.receiver.waitForRequests(1);
  assert.deepEqual(
    service.receiver.requests.map((request) => request.path),
    ['/other'],
  );
  await service.call('POST', `${path}/resume`, { body: {} });
  const requests = await service.receiver.waitForRequests(3);
  const titles = requests
    .filter((request) => request.path !== '/other')
    .map(({ body }) => JSON.parse(body.toString()).data.title);
  assert.deepEqual(new Set(titles), new Set(['waits', 'told']));
});

test('a secret of the owner is kept exactly, in either form, and a PATCH with what a create answered leaves it alone', async (t) => {
  const service = await startWebhookService(t);
  for (const secret of ['whsec_AAECAwQFBgcICQoLDA0ODw==', 'sixteen letters!', 'x'.repeat(256)]) {
    const created = await service.addEndpoint({ secret });
    const path = `/api/webhooks/endpoints/${created.id}`;
    await service.call('PATCH', path, { body: created });
    assert.deepEqual(await service.call('GET', `${path}/secret`), { secret });
  }
});

test('a PATCH with another status or secret is refused, and changes nothing', async (t) => {
  const service = await startWebhookService(t);
  const { secret, warnings: _, ...shown } = await service.addEndpoint();
  const path = `/api/webhooks/endpoints/${shown.id}`;
  const body = { description: 'x', status: 'paused', secret: 'another secret of mine' };
  const refused = await service.call('PATCH', path, { body, status: 400 });
  assert.deepEqual(refused, {
    data: {
      status: { code: 'validation_invalid_value', message: 'Only pause and resume change it.' },
      secret: { code: 'validation_invalid_value', message: 'Only its rotation changes it.' },
    },
    message: 'Failed to update endpoint.',
    status: 400,
  });
  await service.call('PATCH', path, { body: { secret: '' }, status: 400 });
  assert.deepEqual(await service.call('GET', path), shown);
  assert.deepEqual(await service.call('GET', `${path}/secret`), { secret });
});

test('two endpoints get different secrets', async (t) => {
  const service = await startWebhookService(t);
  assert.notEqual((await service.addEndpoint()).secret, (await service.addEndpoint()).secret);
});

test('endpoints are listed in the order they were made, by page, sort and filter', async (t) => {
  const service = await startWebhookService(t);
  for (const description of ['b', 'a', 'c']) await service.addEndpoint({ description });
  const list = async (query: string): Promise<string> => {
    const page = await service.call('GET', `/api/webhooks/endpoints?${query}`);
    const names = listOf(page.items).map(({ description }) => description);
    return `${names.join('')} of ${page.totalItems}`;
  };
  assert.equal(await list(''), 'bac of 3');
  assert.equal(await list('sort=-description'), 'cba of 3');
  assert.equal(await list('perPage=2&page=2'), 'c of 3');
  assert.equal(await list(`filter=${encodeURIComponent("description>'a'")}`), 'bc of 2');
  await service.call('GET', '/api/webhooks/endpoints?filter=secret%21%3D%27%27', { status: 400 });
  await service.call('GET', '/api/webhooks/endpoints?sort=headers', { status: 400 });
});

test('W-46 an instance has at most 1,000 endpoints', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint();
  // As that many requests would have left it: one endpoint so many times.
  await service.withInstance('default', async ({ database, endpoints }) => {
    const [one] = await endpoints.stored(database);
    assert.ok(one);
    await database.write(
      async (tx) => {
        for (let count = 1; count < 1_000; count += 1) await endpoints.insert(tx, { ...one, id: newId() });
      },
      { isExclusive: true },
    );
  });
  const body = { url: service.receiver.url };
  const refused = await service.call('POST', '/api/webhooks/endpoints', { body, status: 400 });
  assert.equal(refused.message, 'Failed to create endpoint. There can be at most 1000 endpoints.');
  const [first] = (await service.call('GET', '/api/webhooks/endpoints?perPage=1')).items;
  await service.call('DELETE', `/api/webhooks/endpoints/${first.id}`, { status: 204 });
  await service.addEndpoint();
});

test('a deleted endpoint is gone, and so is its secret', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.addEndpoint();
  await service.call('DELETE', `/api/webhooks/endpoints/${id}`, { status: 204 });
  await service.call('DELETE', `/api/webhooks/endpoints/${id}`, { status: 404 });
  await service.call('GET', `/api/webhooks/endpoints/${id}`, { status: 404 });
  await service.call('GET', `/api/webhooks/endpoints/${id}/secret`, { status: 404 });
  await service.call('POST', `/api/webhooks/endpoints/${id}/test`, { body: {}, status: 404 });
});

test('collections are given by name or id and kept as ids, so that a renaming is followed', async (t) => {
  const service = await startWebhookService(t);
  const posts = await service.call('GET', '/api/collections/posts');
  const endpoint = await service.addEndpoint({ collections: ['posts', posts.id] });
  assert.deepEqual(endpoint.collections, [posts.id]);
  await service.call('PATCH', '/api/collections/posts', { body: { name: 'articles' } });
  await service.call('POST', '/api/collections/articles/records', { body: { title: 'Hello' } });
  const [request] = await service.receiver.waitForRequests(1);
  assert.equal(request?.headers['x-service-collection'], 'articles');
});

test('an endpoint that loses its last collection is paused with that reason until it is given another, and never hears of all', async (t) => {
  const service = await startWebhookService(t);
  const create = (name: string) => service.call('POST', '/api/collections', { body: { name, type: 'base' } });
  const [a, b] = [await create('a'), await create('b')];
  const both = await service.addEndpoint({ collections: ['a', 'b'] });
  const one = await service.addEndpoint({ collections: ['a'] });
  const other = await service.addEndpoint({ collections: ['a'] });
  await service.call('DELETE', '/api/collections/a', { status: 204 });
  const get = ({ id }: { readonly id: string }) => service.call('GET', `/api/webhooks/endpoints/${id}`);
  const statusReason = 'The last of its collections, a, was deleted.';
  for (const endpoint of [one, other]) {
    const { status, collections, ...shown } = await get(endpoint);
    assert.deepEqual([status, shown.statusReason, collections], ['paused', statusReason, [a.id]]);
  }
  const kept = await get(both);
  assert.deepEqual([kept.status, kept.collections], ['active', [b.id]]);
  const path = `/api/webhooks/endpoints/${one.id}`;
  const refused = await service.call('POST', `${path}/resume`, { body: {}, status: 409 });
  assert.equal(refused.message, 'None of its collections exists any more. Set others first.');
  assert.deepEqual((await get(one)).statusReason, statusReason);
  await service.addPost();
  assert.deepEqual(await service.deliveries(), []);
  const { updated: _, ...shown } = await get(one);
  const { updated, ...sentBack } = await service.call('PATCH', path, { body: shown });
  assert.deepEqual(sentBack, shown);
  assert.ok(updated > kept.created);
  await service.call('PATCH', path, { body: { collections: ['b'] } });
  await service.call('PATCH', path, { body: { collections: [a.id] }, status: 400 });
  assert.equal((await service.call('POST', `${path}/resume`, { body: {} })).status, 'active');
});

test('only superusers manage endpoints and see deliveries', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.addEndpoint();
  const routes = [
    ['GET', '/api/webhooks/endpoints'],
    ['POST', '/api/webhooks/endpoints'],
    ['GET', `/api/webhooks/endpoints/${id}`],
    ['PATCH', `/api/webhooks/endpoints/${id}`],
    ['DELETE', `/api/webhooks/endpoints/${id}`],
    ['GET', `/api/webhooks/endpoints/${id}/secret`],
    ['POST', `/api/webhooks/endpoints/${id}/pause`],
    ['POST', `/api/webhooks/endpoints/${id}/resume`],
    ['POST', `/api/webhooks/endpoints/${id}/test`],
    ['GET', '/api/webhooks/deliveries'],
    ['GET', '/api/webhooks/deliveries/x'],
    ['POST', '/api/webhooks/deliveries/x/retry'],
    ['POST', '/api/webhooks/deliveries/x/cancel'],
  ] as const;
  for (const [method, path] of routes) {
    const body = method === 'GET' ? {} : { body: {} };
    assert.equal((await service.request(path, { method, ...body })).status, 401, `${method} ${path}`);
  }
  assert.deepEqual(service.receiver.requests, []);
});

test('another instance sees, changes and hears nothing of an endpoint', async (t) => {
  const service = await startWebhookService(t);
  await service.app.data.directory.create('other', null);
  const { id } = await service.addEndpoint();
  await service.addPost();
  await service.delivery('the delivery', ({ status }) => status === 'delivered');
  const body = { identity: 'other@example.com', password: 'correct horse' };
  await service.withInstance('other', (instance) => upsertSuperuser(instance, body.identity, body.password));
  const signIn = '/i/other/api/collections/_superusers/auth-with-password';
  const { token } = (await service.request(signIn, { method: 'POST', body })).json;
  const there = (path: string, method = 'GET') =>
    service.request(`/i/other/api/webhooks${path}`, { method, token });
  assert.deepEqual((await there('/endpoints')).json.items, []);
  assert.deepEqual((await there('/deliveries')).json.items, []);
  const [delivery] = await service.deliveries();
  assert.equal((await there(`/endpoints/${id}`)).status, 404);
  assert.equal((await there(`/endpoints/${id}/secret`)).status, 404);
  assert.equal((await there(`/endpoints/${id}`, 'DELETE')).status, 404);
  assert.equal((await there(`/deliveries/${delivery.id}`)).status, 404);
  assert.equal((await there(`/deliveries/${delivery.id}/retry`, 'POST')).status, 404);
  const posts = { name: 'posts', type: 'base', createRule: '' };
  await service.request('/i/other/api/collections', { method: 'POST', token, body: posts });
  const path = '/i/other/api/collections/posts/records';
  assert.equal((await service.request(path, { method: 'POST', body: {} })).status, 201);
  assert.deepEqual((await there('/deliveries')).json.items, []);
  assert.equal(service.receiver.requests.length, 1);
});

test('neither the secret nor a header value stands in the row of an endpoint', async (t) => {
  const service = await startWebhookService(t);
  const secret = 'canary-secret-0001';
  const { id } = await service.addEndpoint({ secret, headers: { 'x-tenant': 'canary-header-0002' } });
  const row = await service.withInstance('default', ({ database }) =>
    database.get(sql`SELECT * FROM ${database.names.table('$endpoint')} WHERE id = ${id}`),
  );
  const text = JSON.stringify(row);
  for (const plain of [secret, 'canary-header-0002', 'x-tenant']) {
    for (const form of [
      plain,
      Buffer.from(plain).toString('base64url'),
      Buffer.from(plain).toString('hex'),
    ]) {
      assert.ok(!text.includes(form), form);
    }
  }
});
