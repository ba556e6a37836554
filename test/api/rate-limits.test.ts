// Both engines: requests are counted in memory on one and in rows on the other.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import PocketBase from 'pocketbase';
import { MovableClock } from '../support/movable-clock.ts';
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import { startService, type TestAnswer, type TestRequest, type TestService } from '../support/service.ts';

interface Limited {
  readonly service: TestService;
  readonly clock: MovableClock;
  /** Asks as the client of this address. */
  readonly ask: (what: string, more?: TestRequest & { readonly from?: string }) => Promise<TestAnswer>;
}

interface Rule {
  readonly label: string;
  readonly maxRequests: number;
  readonly duration?: number;
  readonly audience?: string;
}

const rules = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };

/** With `posts`, which everybody may change, and these rules, behind a proxy that names the clients. */
async function start(t: TestContext, given: readonly Rule[], more: object = {}): Promise<Limited> {
  const clock = new MovableClock();
  const flags = { 'trusted-proxies': '127.0.0.1' };
  const service = await startService(t, { flags, parts: { clock } });
  const fields = [{ name: 'title', type: 'text' }];
  const posts = { name: 'posts', ...rules, fields };
  await service.request('/api/collections', { method: 'POST', token: true, body: posts });
  await limit(service, given, more);
  const ask: Limited['ask'] = (what, { from = '192.0.2.1', ...asked } = {}) => {
    const [method = 'GET', path = ''] = what.split(' ');
    return service.request(path, {
      method,
      ...asked,
      headers: { ...asked.headers, 'x-forwarded-for': from },
    });
  };
  return { service, clock, ask };
}

async function limit(service: TestService, given: readonly Rule[], more: object = {}): Promise<void> {
  const full = given.map((rule) => ({ audience: '', duration: 10, ...rule }));
  const body = { rateLimits: { enabled: true, rules: full, ...more } };
  const changed = await service.request('/api/settings', { method: 'PATCH', token: true, body });
  assert.equal(changed.status, 200, changed.text);
}

const list = 'GET /api/collections/posts/records';

test('section 4: rules are off from the start, and switched on as they are by default', async (t) => {
  const service = await startService(t, { parts: { clock: new MovableClock() } });
  const pb = new PocketBase(service.url);
  pb.autoCancellation(false);
  const wrong = (): Promise<unknown> => pb.collection('_superusers').authWithPassword('a@example.com', 'x');
  for (let count = 0; count < 4; count += 1) assert.equal((await refusalOf(wrong())).status, 400);
  await (await superuserSdk(service)).settings.update({ rateLimits: { enabled: true } });
  for (let count = 0; count < 2; count += 1) assert.equal((await refusalOf(wrong())).status, 400);
  const refusal = await refusalOf(wrong());
  assert.deepEqual(refusal.response, { data: {}, message: 'Too Many Requests.', status: 429 });
});

test('A9: a client that asks too often gets 429 until its window ends, and every limited answer says how many are left', async (t) => {
  const { clock, ask } = await start(t, [{ label: '*:list', maxRequests: 2, duration: 10 }]);
  const seen = async (): Promise<readonly unknown[]> => {
    const { status, headers } = await ask(list);
    const names = ['ratelimit', 'ratelimit-policy', 'retry-after'];
    return [status, ...names.map((name) => headers.get(name))];
  };
  const policy = '"*:list";q=2;w=10';
  assert.deepEqual(await seen(), [200, '"*:list";r=1;t=10', policy, null]);
  clock.move(3_500);
  assert.deepEqual(await seen(), [200, '"*:list";r=0;t=7', policy, null]);
  const refused = await ask(list);
  assert.equal(refused.text, '{"data":{},"message":"Too Many Requests.","status":429}');
  assert.deepEqual(await seen(), [429, '"*:list";r=0;t=7', policy, '7']);
  clock.move(6_499);
  assert.deepEqual(await seen(), [429, '"*:list";r=0;t=1', policy, '1']);
  clock.move(1);
  assert.deepEqual(await seen(), [200, '"*:list";r=1;t=10', policy, null]);
  const free = await ask('GET /api/collections/posts/records/nope');
  assert.equal(free.headers.get('ratelimit'), null);
});

test('clients are counted each for itself: by address, a network of IPv6 as one, and by instance', async (t) => {
  const { service, ask } = await start(t, [{ label: '/api/', maxRequests: 1 }]);
  const statusOf = async (from: string): Promise<number> => (await ask(list, { from })).status;
  for (const from of ['192.0.2.1', '192.0.2.2', '2001:db8::1', '2001:db8:0:1::1'])
    assert.deepEqual([await statusOf(from), await statusOf(from)], [200, 429], from);
  assert.equal(await statusOf('2001:db8::2'), 429);
  assert.equal(await statusOf('203.0.113.5, 192.0.2.1'), 429);
  await service.app.data.directory.create('other', null);
  assert.equal((await ask('GET /i/other/api/health')).status, 200);
});

test('superusers and excluded addresses are not limited', async (t) => {
  const { ask } = await start(t, [{ label: '/api/', maxRequests: 1 }], {
    excludedIPs: ['192.0.2.128/25', '2001:db8::/32', '::ffff:198.51.100.7'],
  });
  for (let count = 0; count < 3; count += 1) {
    const answer = await ask(list, { token: true });
    assert.deepEqual([answer.status, answer.headers.get('ratelimit')], [200, null]);
    for (const from of ['192.0.2.128', '2001:db8::5', '198.51.100.7'])
      assert.equal((await ask(list, { from })).status, 200, from);
  }
  assert.deepEqual([(await ask(list)).status, (await ask(list)).status], [200, 429]);
  assert.equal((await ask(list, { token: 'nonsense' })).status, 429);
});

test('rules for guests count guests, and rules for others do not', async (t) => {
  const { ask } = await start(t, [
    { label: '*:list', maxRequests: 1, audience: '@auth' },
    { label: '*:list', maxRequests: 2, audience: '@guest' },
  ]);
  const answers = [await ask(list), await ask(list), await ask(list)];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 429],
  );
  assert.equal(answers[0]?.headers.get('ratelimit-policy'), '"*:list@guest";q=2;w=10');
});

test('A-18 no other way to write a request is a way around its rule', async (t) => {
  const { service, ask } = await start(t, [{ label: 'none', maxRequests: 1 }]);
  const { json } = await service.request('/api/collections/posts', { token: true });
  const ways = [
    list,
    'GET /api/records/posts',
    'GET /api/collections/POSTS/records?page=1',
    `GET /api/collections/${json.id}/records`,
    `HEAD /api/records/${json.id}`,
    'GET /api/collections/%70osts/records',
    'GET /api/%63ollections/posts/records',
    'GET /i/default/api/records/posts',
    'GET /api/records/posts?fields=nope(',
  ];
  const labels = [
    'posts:list',
    '*:list',
    'GET /api/collections/posts/records',
    'GET /api/records/posts',
    '/api/collections/posts/records',
    '/api/records/posts',
    '/api/records/',
    'GET /api/collections/',
  ];
  for (const label of labels) {
    await limit(service, [{ label, maxRequests: ways.length, duration: 100 + labels.indexOf(label) }]);
    for (const way of ways) assert.notEqual((await ask(way)).status, 429, `${label} ${way}`);
    for (const way of ways) assert.equal((await ask(way)).status, 429, `${label} ${way}`);
  }
});

test('the actions of a collection are told apart', async (t) => {
  const asked: readonly (readonly [string, string])[] = [
    ['list', list],
    ['view', 'GET /api/records/posts/x'],
    ['create', 'POST /api/records/posts'],
    ['update', 'PATCH /api/records/posts/x'],
    ['delete', 'DELETE /api/records/posts/x'],
    ['authWithPassword', 'POST /api/collections/_superusers/auth-with-password'],
    ['auth', 'POST /api/collections/posts/auth-with-password'],
    ['authRefresh', 'POST /api/collections/posts/auth-refresh'],
  ];
  const { ask } = await start(
    t,
    asked.map(([action]) => ({ label: `*:${action}`, maxRequests: 1 })),
  );
  for (const [action, what] of asked) {
    const { headers } = await ask(what);
    const expected = action === 'auth' ? 'authWithPassword' : action;
    assert.equal(headers.get('ratelimit-policy'), `"*:${expected}";q=1;w=10`, what);
  }
});

test('section 15: each item of a batch counts as if it had come alone', async (t) => {
  const { service, ask } = await start(t, [
    { label: 'posts:create', maxRequests: 3 },
    { label: '/api/batch', maxRequests: 4 },
  ]);
  const item = { method: 'POST', url: '/api/records/posts', body: { title: 'a' } };
  const send = (requests: readonly unknown[], token?: true): Promise<TestAnswer> =>
    ask('POST /api/batch', { body: { requests }, ...(token === undefined ? {} : { token }) });
  const first = await send([item, item]);
  assert.deepEqual([first.status, first.headers.get('ratelimit')], [200, '"/api/batch";r=3;t=10']);
  const failed = await send([item, { ...item, url: '/api/collections/posts/records' }]);
  assert.deepEqual([failed.status, failed.headers.get('retry-after')], [400, '10']);
  const { response } = failed.json.data.requests['1'];
  assert.deepEqual(response, { data: {}, message: 'Too Many Requests.', status: 429 });
  assert.equal((await ask('POST /api/records/posts', { body: {} })).status, 429);
  const upsert = { ...item, method: 'PUT', body: { id: 'a'.repeat(15) } };
  assert.equal((await send([upsert])).json.data.requests['0'].response.status, 429);
  assert.equal((await send([item], true)).status, 200);
  const { json } = await service.request('/api/records/posts', { token: true });
  assert.equal(json.totalItems, 3);
  assert.equal((await send([{ method: 'DELETE', url: '/api/records/posts/x' }])).status, 400);
  assert.equal((await send([])).status, 429);
});

test('a page of another origin may read what is left', async (t) => {
  const { ask } = await start(t, [{ label: '/api/', maxRequests: 1 }]);
  const headers = { origin: 'https://app.example' };
  for (const status of [200, 429]) {
    const answer = await ask(list, { headers });
    assert.equal(answer.status, status);
    assert.match(answer.headers.get('access-control-expose-headers') ?? '', /RateLimit, RateLimit-Policy/);
    assert.equal(answer.headers.get('ratelimit'), '"/api/";r=0;t=10');
  }
});
