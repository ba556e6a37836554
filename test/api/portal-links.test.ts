// Both engines: a link is used up by a statement, and lists are restricted by SQL.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { makeKey } from '../support/make-key.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { makeOperatorKey } from '../support/operator-stage.ts';
import { routesOf, webhooks } from '../support/portal-decisions.ts';
import { settled, startPortalStage } from '../support/portal-stage.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';
import { listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const links = `${webhooks}/portal-links`;
const minuteMs = 60_000;
const nobody = 'zzzzzzzzzzzzzzz';

async function makeLink(service: Pick<TestService, 'request'>, body: object): Promise<TestAnswer['json']> {
  const answer = await service.request(links, { method: 'POST', token: true, body });
  assert.equal(answer.status, 201, answer.text);
  return answer.json;
}

function use(service: Pick<TestService, 'request'>, token: string): Promise<TestAnswer> {
  return service.request(`${links}/use`, { method: 'POST', body: { token } });
}

/** The same link or session with another secret. */
const changed = (token: string): string => `${token.slice(0, -43)}${'x'.repeat(43)}`;
const tokenOf = (url: unknown): string => new URL(String(url)).hash.slice(1);

interface Portal {
  readonly id: string;
  readonly token: string;
  readonly ask: (method: string, path: string, body?: object) => Promise<TestAnswer>;
}

async function openPortal(service: Pick<TestService, 'request'>, body: object): Promise<Portal> {
  const link = await makeLink(service, body);
  const opened = await use(service, tokenOf(link.url));
  assert.equal(opened.status, 200, opened.text);
  const { token } = opened.json;
  return {
    id: link.id,
    token,
    ask: (method, path, sent) => service.request(path, { method, token, ...(sent && { body: sent }) }),
  };
}

/** A service whose clock stands still, with an endpoint. */
async function startWithClock(t: TestContext) {
  const clock = new MovableClock();
  const service = await startService(t, { parts: { clock } });
  const endpoint = await service.request(`${webhooks}/endpoints`, {
    method: 'POST',
    token: true,
    body: { url: 'http://127.0.0.1:9/', status: 'paused' },
  });
  assert.equal(endpoint.status, 201, endpoint.text);
  return { service, clock, endpoint: String(endpoint.json.id) };
}

test('a link signs in once, within its time, and its session sees what a key for its endpoints sees', async (t) => {
  const stage = await startPortalStage(t);
  const link = await makeLink(stage, { endpoints: [stage.own] });
  assert.deepEqual(
    [link.endpoints, link.owner, link.scopes, link.opened, link.ends],
    [[stage.own], '', ['webhooks:read', 'webhooks:write'], '', ''],
  );
  const url = new URL(link.url);
  assert.deepEqual([url.pathname, url.search, tokenOf(link.url).length], ['/_/portal', '', 58]);
  // The link is no session.
  assert.equal((await stage.request(`${webhooks}/endpoints`, { token: tokenOf(link.url) })).status, 401);
  assert.equal((await use(stage, changed(tokenOf(link.url)))).status, 403);
  const opened = await use(stage, tokenOf(link.url));
  assert.equal(opened.status, 200, opened.text);
  assert.equal(opened.headers.get('cache-control'), 'no-store');
  const { token } = opened.json;
  assert.equal((await stage.request(`${webhooks}/endpoints`, { token: changed(token) })).status, 401);
  assert.match(token, /^cp_[0-9a-z]{15}[0-9A-Za-z]{43}$/);
  for (const other of [tokenOf(link.url), token, '', 'x'.repeat(58), `${tokenOf(link.url)}0`]) {
    const again = await use(stage, other);
    assert.deepEqual(
      [again.status, again.json.message],
      [403, 'The portal link is not valid, has expired or was used.'],
    );
  }
  const own = await stage.request(`${links}/current`, { token });
  assert.deepEqual([own.json.id, own.json.endpoints, own.json.mayCreate], [link.id, [stage.own], false]);
  assert.equal(own.json.digest, undefined);
  const { items } = await stage.call('GET', links);
  assert.ok(!JSON.stringify(items).includes(tokenOf(link.url)) && !JSON.stringify(items).includes(token));
});

test('who signs out of a portal ends the session, and no other', async (t) => {
  const stage = await startPortalStage(t);
  const reader = { endpoints: [stage.own], scopes: ['webhooks:read'] };
  const [one, other] = [await openPortal(stage, reader), await openPortal(stage, { endpoints: [stage.own] })];
  assert.equal((await one.ask('DELETE', `${links}/current`)).status, 204);
  for (const method of ['GET', 'DELETE'])
    assert.equal((await one.ask(method, `${links}/current`)).status, 401, method);
  assert.equal((await other.ask('GET', `${links}/current`)).status, 200);
  const entries = await stage.call('GET', "/api/audit?filter=action='portal.delete'");
  assert.deepEqual(
    listOf(entries.items).map(({ actor, actorId, target }) => [actor, actorId, target]),
    [['portal', one.id, one.id]],
  );
});

test('a session is refused whatever a key for its endpoints is refused, and another endpoint is like none', async (t) => {
  const stage = await startPortalStage(t);
  const { ask } = await openPortal(stage, { endpoints: [stage.own] });
  await stage.addPost();
  await settled(stage, 2);
  const [theirs] = await stage.deliveries(`endpoint = '${stage.foreign}'`);
  for (const [method, path] of routesOf('refused'))
    for (const id of [stage.own, stage.foreign, nobody]) {
      const answer = await ask(method, path.replace(/\{\w+\}/, id), method === 'GET' ? undefined : {});
      assert.equal(answer.status, 403, `${method} ${path}: ${answer.text}`);
    }
  for (const [method, path] of routesOf('endpoint'))
    for (const id of [stage.foreign, nobody]) {
      const answer = await ask(method, path.replace('{id}', id), method === 'GET' ? undefined : {});
      assert.equal(answer.status, 404, `${method} ${path}`);
    }
  for (const [method, path] of [...routesOf('delivery'), ...routesOf('replay')])
    assert.equal((await ask(method, path.replace('{id}', theirs.id))).status, 404, `${method} ${path}`);
  for (const list of ['endpoints', 'lanes', 'deliveries']) {
    const { json } = await ask('GET', `${webhooks}/${list}`);
    assert.deepEqual(
      listOf(json.items).map((item) => item[list === 'deliveries' ? 'endpoint' : 'id']),
      [stage.own],
    );
  }
  for (const path of [
    '/api/keys',
    '/api/settings',
    '/api/logs',
    '/api/audit',
    '/api/collections',
    '/api/backups',
  ])
    assert.equal((await ask('GET', path)).status, 403, path);
  assert.equal((await ask('GET', '/api/keys/current')).status, 403);
  for (const path of ['posts', 'users', '_superusers'])
    assert.equal((await ask('GET', `/api/collections/${path}/records`)).status, 403, path);
  const changed = await ask('PATCH', `${webhooks}/endpoints/${stage.own}`, { description: 'mine' });
  assert.equal(changed.status, 200, changed.text);
  const wider = await ask('PATCH', `${webhooks}/endpoints/${stage.own}`, { filter: 'rank > 1' });
  assert.equal(wider.status, 403, wider.text);
});

test('only superusers and keys for all endpoints make, list and delete links', async (t) => {
  const stage = await startPortalStage(t);
  const { id } = await makeLink(stage, { endpoints: [stage.own] });
  const reader = await makeKey(stage, ['webhooks:read']);
  const writer = await makeKey(stage, ['webhooks:write']);
  const body = { endpoints: [stage.own] };
  const askAs = (token: string | undefined, method: string, path = '') =>
    stage.request(links + path, {
      method,
      ...(token !== undefined && { token }),
      ...(method === 'POST' && { body }),
    });
  for (const [token, status] of [
    [undefined, 401],
    [stage.key, 403],
    [reader.key, 403],
  ] as const) {
    assert.equal((await askAs(token, 'POST')).status, status);
    assert.equal((await askAs(token, 'DELETE', `/${id}`)).status, status);
  }
  assert.equal((await askAs(stage.key, 'GET')).status, 403);
  assert.equal((await askAs(reader.key, 'GET')).json.totalItems, 1);
  const made = await askAs(writer.key, 'POST');
  assert.equal(made.status, 201, made.text);
  assert.equal((await askAs(writer.key, 'DELETE', `/${made.json.id}`)).status, 204);
  assert.equal((await use(stage, tokenOf(made.json.url))).status, 403, 'it is deleted');
  assert.equal((await askAs(writer.key, 'DELETE', `/${made.json.id}`)).status, 404);
});

test('a session ends with its link, with its last endpoint and with its account', async (t) => {
  const { service, mia, ownerId } = await startWithOwner(t);
  const { id } = await service.addEndpoint();
  const other = await service.addEndpoint({ description: 'other' });
  const deleted = await openPortal(service, { endpoints: [id] });
  assert.equal((await deleted.ask('GET', `${webhooks}/endpoints`)).status, 200);
  await service.call('DELETE', `${links}/${deleted.id}`);
  const refused = await deleted.ask('GET', `${webhooks}/endpoints`);
  assert.deepEqual([refused.status, refused.json.message], [401, 'The portal session has ended.']);
  // Also where guests may go: a program must notice.
  assert.equal((await deleted.ask('GET', '/api/health')).status, 401);
  const both = await openPortal(service, { endpoints: [id, other.id] });
  await service.call('DELETE', `${webhooks}/endpoints/${id}`);
  assert.equal((await both.ask('GET', `${webhooks}/endpoints`)).json.totalItems, 1);
  assert.equal((await both.ask('GET', `${webhooks}/endpoints/${id}`)).status, 404);
  await service.call('DELETE', `${webhooks}/endpoints/${other.id}`);
  assert.equal((await both.ask('GET', `${webhooks}/endpoints`)).status, 401);
  assert.equal((await mia.ask('GET', `${webhooks}/endpoints`)).status, 200);
  await service.call('DELETE', `/api/collections/users/records/${ownerId}`);
  assert.equal((await mia.ask('GET', `${webhooks}/endpoints`)).status, 401);
});

async function startWithOwner(
  t: TestContext,
): Promise<{ readonly service: WebhookService; readonly mia: Portal; readonly ownerId: string }> {
  const service = await startWebhookService(t);
  await service.call('PATCH', '/api/collections/users', { body: { webhooks: { enabled: true } } });
  await service.call('PATCH', '/api/collections/posts', { body: { viewRule: 'title = @request.auth.id' } });
  const body = { email: 'mia@example.com', password: 'correct horse', passwordConfirm: 'correct horse' };
  const { id: ownerId } = await service.call('POST', '/api/collections/users/records', { body });
  return { service, ownerId, mia: await openPortal(service, { owner: `users/${ownerId}` }) };
}

test('a link for an account reaches its endpoints of now and later, and makes and deletes them', async (t) => {
  const { service, mia, ownerId } = await startWithOwner(t);
  const foreign = await service.addEndpoint();
  assert.equal((await mia.ask('GET', `${links}/current`)).json.mayCreate, true);
  assert.equal((await mia.ask('GET', `${webhooks}/endpoints`)).json.totalItems, 0);
  const url = service.receiver.url;
  const later = await service.addEndpoint({ owner: `users/${ownerId}`, collections: ['posts'] });
  const made = await mia.ask('POST', `${webhooks}/endpoints`, { url, collections: ['posts'] });
  assert.deepEqual([made.status, made.json.owner], [201, `_pb_users_auth_/${ownerId}`], made.text);
  const { items } = (await mia.ask('GET', `${webhooks}/endpoints`)).json;
  assert.deepEqual(
    listOf(items).map(({ id }) => id),
    [later.id, made.json.id],
  );
  for (const body of [
    { url, owner: 'users/somebody0000000' },
    { url, name: 'shop' },
  ])
    assert.equal((await mia.ask('POST', `${webhooks}/endpoints`, body)).status, 403);
  assert.equal((await mia.ask('GET', `${webhooks}/endpoints/${foreign.id}`)).status, 404);
  assert.equal((await mia.ask('DELETE', `${webhooks}/endpoints/${foreign.id}`)).status, 404);
  assert.equal((await mia.ask('DELETE', `${webhooks}/endpoints/${later.id}`)).status, 204);
  // The account's own records are none of the portal's business.
  assert.equal((await mia.ask('GET', '/api/collections/posts/records')).status, 403);
  assert.equal((await mia.ask('GET', `/api/collections/users/records/${ownerId}`)).status, 403);
  for (const path of ['/api/collections/users/auth-refresh', '/api/files/token'])
    assert.ok((await mia.ask('POST', path, {})).status >= 400, path);
  for (let count = 1; count < 5; count += 1)
    assert.equal((await mia.ask('POST', `${webhooks}/endpoints`, { url })).status, 201);
  assert.equal(
    (await mia.ask('POST', `${webhooks}/endpoints`, { url })).status,
    400,
    'as many as an account',
  );
});

test('where accounts may have no endpoints, a link for one makes none either', async (t) => {
  const { service, mia, ownerId } = await startWithOwner(t);
  const endpoint = await service.addEndpoint({ owner: `users/${ownerId}`, collections: ['posts'] });
  await service.call('PATCH', '/api/collections/users', { body: { webhooks: { enabled: false } } });
  assert.equal((await mia.ask('GET', `${links}/current`)).json.mayCreate, false);
  const { json } = await mia.ask('GET', `${webhooks}/endpoints`);
  assert.deepEqual([json.totalItems, json.items[0].id], [1, endpoint.id]);
  const body = { url: service.receiver.url };
  assert.equal((await mia.ask('POST', `${webhooks}/endpoints`, body)).status, 403);
  assert.equal((await mia.ask('DELETE', `${webhooks}/endpoints/${endpoint.id}`)).status, 403);
});

test('a link to look at changes nothing, also for an account', async (t) => {
  const { service, ownerId } = await startWithOwner(t);
  const endpoint = await service.addEndpoint({ owner: `users/${ownerId}`, collections: ['posts'] });
  for (const subject of [{ owner: `users/${ownerId}` }, { endpoints: [endpoint.id] }]) {
    const { ask } = await openPortal(service, { ...subject, scopes: ['webhooks:read'] });
    assert.equal((await ask('GET', `${webhooks}/endpoints/${endpoint.id}`)).status, 200);
    assert.equal((await ask('GET', `${links}/current`)).json.mayCreate, false);
    for (const [method, path] of [
      ['PATCH', `/${endpoint.id}`],
      ['POST', `/${endpoint.id}/pause`],
      ['GET', `/${endpoint.id}/secret`],
      ['POST', ''],
      ['DELETE', `/${endpoint.id}`],
    ] as const) {
      const body = method === 'GET' ? undefined : { url: service.receiver.url };
      assert.equal(
        (await ask(method, `${webhooks}/endpoints${path}`, body)).status,
        403,
        `${method} ${path}`,
      );
    }
  }
});

test('a session goes on while it is used, for twelve hours at most', async (t) => {
  const { service, clock, endpoint } = await startWithClock(t);
  const idle = await openPortal(service, { endpoints: [endpoint] });
  const used = await openPortal(service, { endpoints: [endpoint] });
  for (let minutes = 0; minutes < 12 * 60 - 50; minutes += 50) {
    clock.move(50 * minuteMs);
    assert.equal((await used.ask('GET', `${webhooks}/endpoints`)).status, 200, `after ${minutes} minutes`);
    // Written after the answer.
    const until = clock.now() + 55 * minuteMs;
    const { ends } = (await used.ask('GET', `${links}/current`)).json;
    await expiresAt(service, used.id, Math.min(until, Date.parse(String(ends).replace(' ', 'T'))));
  }
  assert.equal((await idle.ask('GET', `${webhooks}/endpoints`)).status, 401);
  clock.move(21 * minuteMs);
  assert.equal((await used.ask('GET', `${webhooks}/endpoints`)).status, 401);
  assert.equal((await service.request(links, { token: true })).json.totalItems, 0);
});

/** Waits until the session lasts at least to this time. */
async function expiresAt(service: TestService, id: string, ms: number): Promise<void> {
  while (true) {
    const { items } = (await service.request(links, { token: true })).json;
    const expires = listOf(items).find((one) => one.id === id)?.['expires'];
    if (Date.parse(String(expires).replace(' ', 'T')) >= ms) return;
  }
}

test('a link that was not opened in time signs nobody in', async (t) => {
  const { service, clock, endpoint } = await startWithClock(t);
  const hour = await makeLink(service, { endpoints: [endpoint] });
  const expires = new Date(clock.now() + 2 * 3_600_000).toISOString();
  const later = await makeLink(service, { endpoints: [endpoint], expires });
  clock.move(3_600_000 - 1);
  assert.equal((await service.request(links, { token: true })).json.totalItems, 2);
  clock.move(1);
  assert.equal((await use(service, tokenOf(hour.url))).status, 403);
  assert.equal((await use(service, tokenOf(later.url))).status, 200);
});

test('what is no link is refused with the problem of each member', async (t) => {
  const { service, clock, endpoint } = await startWithClock(t);
  const problemOf = async (body: object): Promise<readonly string[]> => {
    const answer = await service.request(links, { method: 'POST', token: true, body });
    assert.equal(answer.status, 400, answer.text);
    return Object.keys(answer.json.data);
  };
  const days = (count: number): string => new Date(clock.now() + count * 86_400_000).toISOString();
  assert.deepEqual(await problemOf({}), ['endpoints']);
  assert.deepEqual(await problemOf({ endpoints: [] }), ['endpoints']);
  assert.deepEqual(await problemOf({ endpoints: [nobody] }), ['endpoints']);
  assert.deepEqual(await problemOf({ endpoints: [endpoint], owner: 'users/x' }), ['endpoints']);
  assert.deepEqual(await problemOf({ owner: 'users/nobody' }), ['owner']);
  assert.deepEqual(await problemOf({ owner: '_superusers/x' }), ['owner']);
  assert.deepEqual(await problemOf({ endpoints: [endpoint], scopes: ['admin'] }), ['scopes']);
  assert.deepEqual(await problemOf({ endpoints: [endpoint], expires: days(-1) }), ['expires']);
  assert.deepEqual(await problemOf({ endpoints: [endpoint], expires: days(8) }), ['expires']);
  assert.deepEqual(await problemOf({ endpoints: [endpoint], collections: [] }), ['collections']);
  assert.equal((await service.request(links, { token: true })).json.totalItems, 0);
});

test('links begin with the address of the settings, once that is set', async (t) => {
  const { service, endpoint } = await startWithClock(t);
  const before = await makeLink(service, { endpoints: [endpoint] });
  assert.equal(new URL(before.url).origin, new URL(service.url).origin);
  const body = { meta: { appURL: 'https://shop.example.com/data/' } };
  await service.request('/api/settings', { method: 'PATCH', token: true, body });
  const after = await makeLink(service, { endpoints: [endpoint] });
  assert.match(after.url, /^https:\/\/shop\.example\.com\/data\/_\/portal#/);
});

test('making, opening and deleting a link are audited, and what its session does is its own', async (t) => {
  const stage = await startPortalStage(t);
  const { id, ask } = await openPortal(stage, { endpoints: [stage.own] });
  await ask('POST', `${webhooks}/endpoints/${stage.own}/pause`);
  await stage.call('DELETE', `${links}/${id}`);
  const { items } = await stage.call('GET', '/api/audit?sort=created');
  const entries = listOf(items)
    .filter(({ action, target }) => String(action).startsWith('portal.') || target === stage.own)
    .map(({ action, actor, actorId, target }) => [action, actor, actorId, target]);
  const root = entries.find(([action]) => action === 'portal.create')?.[2];
  assert.deepEqual(entries.slice(-4), [
    ['portal.create', 'superuser', root, id],
    ['portal.open', 'guest', '', id],
    ['endpoint.update', 'portal', id, stage.own],
    ['portal.delete', 'superuser', root, id],
  ]);
});

test('rules for superusers do not stop customers, and limits of clients hold for them', async (t) => {
  const stage = await startPortalStage(t);
  const { ask } = await openPortal(stage, { endpoints: [stage.own] });
  const rules = [{ label: '/api/webhooks/', audience: '@auth', duration: 60, maxRequests: 2 }];
  // Last, as nobody may undo it from here.
  await stage.call('PATCH', '/api/settings', {
    body: { rateLimits: { enabled: true, rules }, superuserIPs: ['203.0.113.7', '127.0.0.1'] },
  });
  const statuses: number[] = [];
  for (let count = 0; count < 3; count += 1)
    statuses.push((await ask('GET', `${webhooks}/endpoints`)).status);
  assert.deepEqual(statuses, [200, 200, 429]);
});

test('a copy of an instance has neither its links nor their sessions', async (t) => {
  const stage = await startPortalStage(t);
  const { token } = await openPortal(stage, { endpoints: [stage.own] });
  const link = await makeLink(stage, { endpoints: [stage.own] });
  const { key } = await makeOperatorKey(stage);
  const path = '/api/operator/instances/default/clone';
  const cloned = await stage.request(path, { method: 'POST', token: key, body: { slug: 'copy' } });
  assert.equal(cloned.status, 201, cloned.text);
  assert.equal((await stage.request(`/i/copy${links}`, { token: true })).json.totalItems, 0);
  assert.equal((await stage.request(`/i/copy${webhooks}/endpoints`, { token })).status, 401);
  const body = { token: tokenOf(link.url) };
  assert.equal((await stage.request(`/i/copy${links}/use`, { method: 'POST', body })).status, 403);
  assert.equal((await stage.request(`${webhooks}/endpoints`, { token })).status, 200);
});
