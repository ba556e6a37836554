// Both engines: events are decided by rules in SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allDecided } from '../support/all-decided.ts';
import type { TestAnswer } from '../support/service.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const endpoints = '/api/webhooks/endpoints';
const posts = '/api/collections/posts/records';

interface Account {
  readonly id: string;
  ask(method: string, path: string, body?: unknown): Promise<TestAnswer>;
}

async function signUp(service: WebhookService, name: string): Promise<Account> {
  const users = '/api/collections/users';
  const email = `${name}@example.com`;
  const [password, passwordConfirm] = ['correct horse', 'correct horse'];
  const body = { email, password, passwordConfirm };
  const { id } = await service.call('POST', `${users}/records`, { body });
  const signedIn = await service.call('POST', `${users}/auth-with-password`, {
    body: { identity: email, password },
  });
  const token = String(signedIn.token);
  const ask: Account['ask'] = (method, path, sent) =>
    service.request(path, { method, token, ...(sent === undefined ? {} : { body: sent }) });
  return { id, ask };
}

async function startWithOwners(t: Parameters<typeof startWebhookService>[0]): Promise<WebhookService> {
  const service = await startWebhookService(t);
  await service.call('PATCH', '/api/collections/users', { body: { webhooks: { enabled: true } } });
  await service.call('PATCH', '/api/settings', { body: { webhooks: { verifyAccountEndpoints: false } } });
  const rules = { viewRule: 'title = @request.auth.id || isPublic = true', createRule: '' };
  await service.call('PATCH', '/api/collections/posts', { body: rules });
  return service;
}

test('an account has no endpoints, unless its collection says so', async (t) => {
  const service = await startWebhookService(t);
  const mia = await signUp(service, 'mia');
  const { webhooks } = await service.call('GET', '/api/collections/users');
  assert.deepEqual(webhooks, { enabled: false });
  for (const [method, path] of [
    ['GET', endpoints],
    ['POST', endpoints],
    ['GET', '/api/webhooks/deliveries'],
    ['GET', '/api/webhooks/events'],
  ] as const)
    assert.equal(
      (await mia.ask(method, path, method === 'POST' ? { url: service.receiver.url } : undefined)).status,
      403,
    );
});

test('an account makes an endpoint of its own, and is told of what it may view', async (t) => {
  const service = await startWithOwners(t);
  const [mia, leo] = [await signUp(service, 'mia'), await signUp(service, 'leo')];
  const body = { url: service.receiver.url, collections: ['posts'], order: 'strict' };
  const made = await mia.ask('POST', endpoints, body);
  assert.equal(made.status, 201, made.text);
  assert.equal(made.json.owner, `_pb_users_auth_/${mia.id}`);
  assert.match(made.json.secret, /^whsec_/);
  for (const title of [leo.id, mia.id, leo.id]) await service.call('POST', posts, { body: { title } });
  await service.call('POST', posts, { body: { title: leo.id, isPublic: true } });
  const requests = await service.receiver.waitForRequests(2);
  const told = requests.map(({ body: sent }) => JSON.parse(sent.toString()).data);
  assert.deepEqual(
    told.map(({ title, isPublic }) => [title, isPublic]),
    [
      [mia.id, false],
      [leo.id, true],
    ],
  );
  const events = (await mia.ask('GET', '/api/webhooks/events')).json;
  assert.deepEqual([events.totalItems, listOf(events.items).map(({ actor }) => actor)], [2, ['', '']]);
  assert.equal((await mia.ask('GET', '/api/webhooks/deliveries')).json.totalItems, 2);
  assert.equal((await leo.ask('GET', '/api/webhooks/deliveries')).json.totalItems, 0);
});

test('an account changes, tests, pauses and deletes its own endpoints, and those of nobody else', async (t) => {
  const service = await startWithOwners(t);
  const [mia, leo] = [await signUp(service, 'mia'), await signUp(service, 'leo')];
  const { id: ofAll } = await service.addEndpoint();
  const { id } = (await mia.ask('POST', endpoints, { url: service.receiver.url })).json;
  const listed = (await mia.ask('GET', endpoints)).json;
  assert.deepEqual([listed.totalItems, listOf(listed.items).map((one) => one.id)], [1, [id]]);
  assert.equal((await leo.ask('GET', endpoints)).json.totalItems, 0);
  const changes: readonly (readonly [string, string, unknown?])[] = [
    ['GET', ''],
    [
      'PATCH',
      '',
      { description: 'mine', events: ['record.create'], filter: 'title != ""', collections: ['posts'] },
    ],
    ['GET', '/secret'],
    ['POST', '/secret/rotate', {}],
    ['POST', '/pause', {}],
    ['POST', '/resume', {}],
    ['POST', '/test', {}],
    ['POST', '/replay', { scope: 'failed', dryRun: true }],
    ['GET', '/stats'],
  ];
  for (const [method, path, body] of changes) {
    const own = await mia.ask(method, `${endpoints}/${id}${path}`, body);
    assert.ok(own.status < 300, `${method} ${path}: ${own.text}`);
    for (const [account, target] of [
      [leo, id],
      [mia, ofAll],
    ] as const) {
      const other = await account.ask(method, `${endpoints}/${target}${path}`, body);
      assert.equal(other.status, 404, `${method} ${path}: ${other.text}`);
    }
  }
  for (const target of [id, ofAll])
    assert.equal((await leo.ask('DELETE', `${endpoints}/${target}`)).status, 404);
  assert.equal((await mia.ask('DELETE', `${endpoints}/${id}`)).status, 204);
  assert.equal((await mia.ask('GET', endpoints)).json.totalItems, 0);
  assert.equal((await service.call('GET', endpoints)).totalItems, 1);
});

test('an account gives no endpoint away, takes none, and learns nothing that is not its own', async (t) => {
  const service = await startWithOwners(t);
  const [mia, leo] = [await signUp(service, 'mia'), await signUp(service, 'leo')];
  const { url } = service.receiver;
  const { id } = (await mia.ask('POST', endpoints, { url })).json;
  const owner = `users/${leo.id}`;
  for (const [method, path] of [
    ['POST', endpoints],
    ['PATCH', `${endpoints}/${id}`],
  ] as const) {
    const refused = await mia.ask(method, path, { url, owner });
    assert.equal(refused.status, 403, refused.text);
    assert.deepEqual(Object.keys(refused.json.data), ['owner']);
  }
  for (const settings of [{ payload: 'previous' }, { filter: '@old.title = ""' }, { filter: 'note = ""' }])
    assert.equal(
      (await mia.ask('PATCH', `${endpoints}/${id}`, { collections: ['posts'], ...settings })).status,
      400,
    );
  const draft = await mia.ask('POST', `${endpoints}/check`, { url, collections: ['posts'] });
  assert.deepEqual([draft.status, draft.json.problems, draft.json.eventsPerDay], [200, {}, null]);
  for (const [method, path] of [
    ['GET', '/api/webhooks/feed'],
    ['GET', '/api/webhooks/stats'],
    ['GET', '/api/webhooks/event-types'],
    ['POST', '/api/webhooks/filters/test'],
    ['GET', '/api/keys'],
    ['GET', '/api/settings'],
    ['GET', '/api/collections'],
  ] as const) {
    const answer = await mia.ask(method, path, method === 'POST' ? {} : undefined);
    assert.equal(answer.status, 403, `${method} ${path}: ${answer.text}`);
  }
});

test('an account has a limited number of endpoints, and none any more once its collection allows none', async (t) => {
  const service = await startWithOwners(t);
  const mia = await signUp(service, 'mia');
  const { url } = service.receiver;
  const statuses: number[] = [];
  for (let made = 0; made < 6; made += 1) statuses.push((await mia.ask('POST', endpoints, { url })).status);
  assert.deepEqual(statuses, [...Array.from({ length: 5 }, () => 201), 400]);
  const leo = await signUp(service, 'leo');
  assert.equal((await leo.ask('POST', endpoints, { url })).status, 201);
  await service.call('PATCH', '/api/collections/users', { body: { webhooks: { enabled: false } } });
  assert.equal((await mia.ask('GET', endpoints)).status, 403);
  const audit: Json = await service.call('GET', '/api/audit?perPage=500');
  const own = listOf(audit.items).filter(({ action }) => action === 'endpoint.create');
  assert.ok(
    own.some(({ actor, actorId }) => actor === 'user' && actorId === leo.id),
    JSON.stringify(own.slice(0, 2)),
  );
});

test('an account does not name its endpoints, so that no definition of a superuser finds them, and tests show it no more than it may view', async (t) => {
  const service = await startWithOwners(t);
  const mia = await signUp(service, 'mia');
  const { url } = service.receiver;
  const named = await mia.ask('POST', endpoints, { url, name: 'shop' });
  assert.deepEqual([named.status, Object.keys(named.json.data)], [403, ['name']]);
  const { id, name } = (await mia.ask('POST', endpoints, { url, name: '' })).json;
  assert.equal(name, '');
  assert.equal((await mia.ask('PATCH', `${endpoints}/${id}`, { name: 'shop' })).status, 403);
  assert.equal((await mia.ask('PUT', `${endpoints}/import`, { endpoints: [] })).status, 403);
  const [secret, open] = [await service.addPost('secret'), await service.addPost(mia.id)];
  const send = (recordId: unknown, status: number): Promise<Json> =>
    service.call('POST', `${endpoints}/${id}/test`, { body: { recordId, collection: 'posts' }, status });
  const { data } = await send(secret.id, 400);
  assert.equal(data.recordId.message, 'The owner of the endpoint may not view this record.');
  assert.equal((await send(open.id, 200)).status, 'delivered');
});

test('the filter of an account follows relations to what list rules show to it', async (t) => {
  const service = await startWithOwners(t);
  const [mia, leo] = [await signUp(service, 'mia'), await signUp(service, 'leo')];
  const body = {
    name: 'teams',
    type: 'base',
    listRule: 'members ?= @request.auth.id',
    fields: [
      { name: 'name', type: 'text' },
      { name: 'members', type: 'relation', collectionId: '_pb_users_auth_', maxSelect: 9 },
    ],
  };
  const { id: collectionId } = await service.call('POST', '/api/collections', { body });
  const { fields } = await service.call('GET', '/api/collections/posts');
  await service.call('PATCH', '/api/collections/posts', {
    body: { fields: [...fields, { name: 'team', type: 'relation', collectionId }], viewRule: '' },
  });
  const filter = 'team.name = "red"';
  const own = { url: service.receiver.url, collections: ['posts'], filter };
  for (const account of [mia, leo]) assert.equal((await account.ask('POST', endpoints, own)).status, 201);
  const { id: team } = await service.call('POST', '/api/collections/teams/records', {
    body: { name: 'red', members: [mia.id] },
  });
  await service.call('POST', posts, { body: { team } });
  await allDecided(service);
  assert.equal((await mia.ask('GET', '/api/webhooks/deliveries')).json.totalItems, 1);
  assert.equal((await leo.ask('GET', '/api/webhooks/deliveries')).json.totalItems, 0);
});
