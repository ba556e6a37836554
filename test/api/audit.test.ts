// Both engines: entries are rows of the transaction that they tell of.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteSuperuser, upsertSuperuser } from '../../src/auth/superuser.ts';
import { eventually } from '../support/eventually.ts';
import { makeKey } from '../support/make-key.ts';
import { makeOperatorKey, operatorCaller } from '../support/operator-stage.ts';
import { runCommandOver } from '../support/start-command.ts';
import { startService, type TestAnswer, type TestRequest, type TestService } from '../support/service.ts';

type Entry = Readonly<Record<string, unknown>>;

async function entriesOf(service: TestService, filter: string): Promise<readonly Entry[]> {
  const query = new URLSearchParams({ filter, perPage: '200' }).toString();
  const { status, json, text } = await service.request(`/api/audit?${query}`, { token: true });
  assert.equal(status, 200, text);
  return json.items;
}

/** What tells an entry from others; the rest is looked at where it matters. */
function brief({ action, outcome, actor, collection, target, details }: Entry): readonly unknown[] {
  return [action, outcome, actor, collection, target, details];
}

/** `METHOD /path`, as a superuser. */
function send(service: TestService, what: string, body?: object): Promise<TestAnswer> {
  const [method = '', path = ''] = what.split(' ');
  return service.request(path, { method, token: true, ...(body && { body }) });
}

const superusers = 'pbc_3142635823';

test('every change of definitions, rules and secrets of tokens is in the log, with rules as they were and are', async (t) => {
  const service = await startService(t);
  const rules = { listRule: null, viewRule: null, createRule: null, updateRule: null, deleteRule: null };
  const fields = [
    { name: 'title', type: 'text' },
    { name: 'old', type: 'text' },
  ];
  const made = await send(service, 'POST /api/collections', { name: 'posts', fields });
  const { id } = made.json;
  const path = '/api/collections/posts';
  const all: readonly Entry[] = made.json.fields;
  const kept = all.filter(({ name }) => name !== 'old' && name !== 'title');
  const title = all.find(({ name }) => name === 'title');
  await send(service, `PATCH ${path}`, {
    listRule: "title != 'canary'",
    fields: [...kept, { ...title, max: 10 }, { name: 'new', type: 'bool' }],
  });
  await send(service, `PATCH ${path}`, { listRule: "title != 'canary'" });
  const secret = 'canary'.repeat(6);
  await send(service, 'PATCH /api/collections/users', {
    authRule: null,
    authToken: { secret, duration: 60 },
  });
  await send(service, 'PUT /api/collections/import', { collections: [{ id, name: 'articles' }] });
  await send(service, 'DELETE /api/collections/articles/truncate');
  await send(service, 'DELETE /api/collections/articles');
  const refused = await send(service, 'PATCH /api/collections/users', { listRule: 'nonsense' });
  assert.equal(refused.status, 400);
  const entries = await entriesOf(service, "action ~ 'collection.'");
  const users = '_pb_users_auth_';
  assert.deepEqual(entries.map(brief), [
    ['collection.create', 'done', 'superuser', id, '', { name: 'posts', rules }],
    [
      'collection.update',
      'done',
      'superuser',
      id,
      '',
      {
        name: 'posts',
        rules: { listRule: { before: null, after: "title != 'canary'" } },
        fields: { added: ['new'], removed: ['old'], changed: ['title'] },
      },
    ],
    [
      'collection.update',
      'done',
      'superuser',
      users,
      '',
      {
        name: 'users',
        rules: { authRule: { before: '', after: null } },
        options: ['authToken.duration'],
      },
    ],
    ['collection.secrets', 'done', 'superuser', users, '', { changed: ['authToken'] }],
    ['collection.update', 'done', 'superuser', id, '', { name: 'articles', nameBefore: 'posts' }],
    ['collection.truncate', 'done', 'superuser', id, '', {}],
    ['collection.delete', 'done', 'superuser', id, '', { name: 'articles' }],
  ]);
  for (const entry of entries) assert.ok(!JSON.stringify(entry).includes(secret));
});

test('an instance that a command has made is in the log of the operator', async (t) => {
  const service = await startService(t);
  for (const args of [['beta', '--host', 'Beta.Example'], ['acme']]) {
    const { code, stderr } = await runCommandOver(service.data, ['instance', 'create', ...args]);
    assert.deepEqual([code, stderr], [0, '']);
  }
  const { key } = await makeOperatorKey(service);
  const filter = encodeURIComponent("action = 'instance.create'");
  const { json } = await operatorCaller(service, key)(200, `GET /audit?filter=${filter}&sort=created`);
  const entries: readonly Entry[] = json.items;
  assert.deepEqual(
    entries.map(({ outcome, actor, details }) => [outcome, actor, details]),
    [
      ['done', 'operator', { slug: 'beta', host: 'beta.example' }],
      ['done', 'operator', { slug: 'acme' }],
    ],
  );
  // It is nothing of this one's.
  assert.deepEqual(await entriesOf(service, "action = 'instance.create'"), []);
});

test('an entry says who did it, from where, and which request it was', async (t) => {
  const service = await startService(t);
  const answer = await send(service, 'POST /api/collections', { name: 'posts' });
  const { key, id } = await makeKey(service, ['collections:write']);
  await service.request('/api/collections/posts', { method: 'DELETE', token: key });
  const [made, deleted] = await entriesOf(service, "action ~ 'collection.'");
  const root = await service.request('/api/records/_superusers', { token: true });
  assert.deepEqual(
    [made?.['actor'], made?.['actorId'], made?.['address'], made?.['requestId'], made?.['count']],
    ['superuser', root.json.items[0].id, '127.0.0.1', answer.headers.get('x-request-id'), 1],
  );
  assert.deepEqual([deleted?.['actor'], deleted?.['actorId']], ['key', id]);
});

test('keys, settings and endpoints are in the log by the names of what changed, and no secret is', async (t) => {
  const service = await startService(t);
  const { id, key } = await makeKey(service, ['records:read'], { collections: ['users'] });
  await send(service, `DELETE /api/keys/${id}`);
  const smtp = { host: 'mail.example.com', password: 'canary-smtp' };
  await send(service, 'PATCH /api/settings', { smtp, meta: { appName: 'x' } });
  await send(service, 'PATCH /api/settings', { smtp });
  const url = 'https://hooks.example.com/canary-path?token=canary-query';
  const headers = { authorization: 'canary-header' };
  const endpoint = (await send(service, 'POST /api/webhooks/endpoints', { url, headers })).json;
  const path = `/api/webhooks/endpoints/${endpoint.id}`;
  await send(service, `PATCH ${path}`, { headers: { authorization: 'canary-other' }, maxInFlight: 1 });
  await send(service, `POST ${path}/pause`);
  assert.equal((await send(service, `GET ${path}/secret`)).status, 200);
  await send(service, `DELETE ${path}`);
  const entries = await entriesOf(service, "action ~ 'key.' || action ~ 'settings.' || action ~ 'endpoint.'");
  const scopes = ['records:read'];
  const settings = { name: 'test', scopes, collections: ['_pb_users_auth_'], endpoints: null, expires: '' };
  const host = 'hooks.example.com';
  assert.deepEqual(
    entries.map(({ action, target, details }) => [action, target, details]),
    [
      ['key.create', id, settings],
      ['key.delete', id, {}],
      ['settings.update', '', { changed: ['smtp.host', 'smtp.password', 'meta.appName'] }],
      ['endpoint.create', endpoint.id, { host }],
      ['endpoint.update', endpoint.id, { host, changed: ['headers.authorization', 'maxInFlight'] }],
      ['endpoint.update', endpoint.id, { host, changed: ['status'] }],
      ['endpoint.secret', endpoint.id, {}],
      ['endpoint.delete', endpoint.id, { host }],
    ],
  );
  const all = JSON.stringify(await entriesOf(service, "id != ''"));
  for (const secret of ['canary', key.slice(-43), endpoint.secret]) assert.ok(!all.includes(secret), secret);
});

test('superusers are in the log as they are made, changed and removed, by records and by the command line', async (t) => {
  const service = await startService(t);
  const account = { email: 'a@example.com', password: 'correct canary', passwordConfirm: 'correct canary' };
  const { id } = (await send(service, 'POST /api/records/_superusers', account)).json;
  const path = `/api/records/_superusers/${id}`;
  await send(service, `PATCH ${path}`, { email: 'b@example.com' });
  await send(service, `PATCH ${path}`, { password: 'another canary', passwordConfirm: 'another canary' });
  await send(service, `PATCH ${path}`, { email: 'b@example.com' });
  const requests = [
    { method: 'PATCH', url: path, body: { emailVisibility: true } },
    { method: 'DELETE', url: path },
  ];
  assert.equal((await send(service, 'POST /api/batch', { requests })).status, 200);
  const other = 'operator@example.com';
  await service.withInstance('default', async (instance) => {
    await upsertSuperuser(instance, other, 'a good password');
    await upsertSuperuser(instance, other, 'a better password');
    await deleteSuperuser(instance, other);
  });
  const entries = await entriesOf(service, "action ~ 'superuser.'");
  // The first one is that of the tests.
  assert.deepEqual(
    entries.slice(1).map(({ action, actor, target, details }) => [action, actor, target === id, details]),
    [
      ['superuser.create', 'superuser', true, {}],
      ['superuser.update', 'superuser', true, { changed: ['email', 'secrets'] }],
      ['superuser.update', 'superuser', true, { changed: ['secrets'] }],
      ['superuser.update', 'superuser', true, { changed: ['emailVisibility'] }],
      ['superuser.delete', 'superuser', true, {}],
      ['superuser.create', 'operator', false, {}],
      ['superuser.update', 'operator', false, { changed: ['secrets'] }],
      ['superuser.delete', 'operator', false, {}],
    ],
  );
  for (const entry of entries) assert.equal(entry['collection'], superusers);
  assert.ok(!JSON.stringify(entries).includes('canary'));
});

test('of other accounts it is written down when somebody else could sign in to them from now on', async (t) => {
  const service = await startService(t);
  const users = '/api/collections/users/records';
  const secret = { password: 'correct horse', passwordConfirm: 'correct horse' };
  const made = await send(service, `POST ${users}`, { email: 'a@example.com', name: 'Ann', ...secret });
  assert.equal(made.status, 201);
  const { id } = made.json;
  const next = { password: 'another canary', passwordConfirm: 'another canary' };
  for (const body of [{ name: 'Anna' }, { email: 'b@example.com', name: 'Bea' }, { verified: true }, next])
    assert.equal((await send(service, `PATCH ${users}/${String(id)}`, body)).status, 200);
  const entries = await entriesOf(service, "action = 'account.update'");
  assert.deepEqual(
    entries.map(({ actor, target, details }) => [actor, target, details]),
    [
      ['superuser', id, { changed: ['email', 'secrets'] }],
      ['superuser', id, { changed: ['verified'] }],
      ['superuser', id, { changed: ['secrets'] }],
    ],
  );
  assert.ok(!JSON.stringify(entries).includes('canary'));
});

test('what is refused and rolled back leaves no entry', async (t) => {
  const service = await startService(t);
  const account = { email: 'a@example.com', password: 'correct horse', passwordConfirm: 'correct horse' };
  const requests = [
    { method: 'POST', url: '/api/collections/_superusers/records', body: account },
    { method: 'POST', url: '/api/collections/_superusers/records', body: account },
  ];
  assert.equal((await send(service, 'POST /api/batch', { requests })).status, 400);
  assert.equal((await send(service, 'PATCH /api/settings', { batch: { timeout: -1 } })).status, 400);
  assert.equal((await send(service, 'POST /api/keys', { name: 'x' })).status, 400);
  const only = await entriesOf(service, "action != 'sign-in'");
  assert.deepEqual(
    only.map(({ action, actor }) => [action, actor]),
    [['superuser.create', 'operator']],
  );
});

test('an impersonation is in the log before its token is answered', async (t) => {
  const service = await startService(t);
  const account = { email: 'a@example.com', password: 'correct horse', passwordConfirm: 'correct horse' };
  const { id } = (await send(service, 'POST /api/records/users', account)).json;
  assert.equal((await send(service, `POST /api/collections/users/impersonate/${id}`)).status, 200);
  const [entry] = await entriesOf(service, "action = 'impersonate'");
  assert.deepEqual(entry && brief(entry), ['impersonate', 'done', 'superuser', '_pb_users_auth_', id, {}]);
});

test('the log is for superusers and keys for everything, and nothing changes it', async (t) => {
  const service = await startService(t);
  const [all, few] = [await makeKey(service, ['admin']), await makeKey(service, ['records:read'])];
  const status = async (asked: TestRequest): Promise<number> =>
    (await service.request('/api/audit', asked)).status;
  assert.deepEqual(
    [await status({}), await status({ token: few.key }), await status({ token: all.key })],
    [401, 403, 200],
  );
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
    assert.equal(await status({ method, token: true }), 405, method);
  for (const query of ["filter=(details ~ 'x')", 'filter=(tallied=1)', 'sort=position', 'page=x'])
    assert.equal((await service.request(`/api/audit?${query}`, { token: true })).status, 400, query);
  const { json } = await service.request('/api/audit?sort=-created&perPage=1&fields=action&skipTotal=1', {
    token: true,
  });
  assert.deepEqual([json.items, json.totalItems], [[{ action: 'key.create' }], -1]);
});

test('sign-ins, and refusals of them, are counted by minute, account and client, without what was typed', async (t) => {
  const service = await startService(t);
  await send(service, 'PATCH /api/settings', { superuserIPs: ['127.0.0.1'] });
  const account = { email: 'a@example.com', password: 'correct horse', passwordConfirm: 'correct horse' };
  const { id } = (await send(service, 'POST /api/records/users', account)).json;
  const signIn = async (identity: string, password: string): Promise<number> => {
    const body = { identity, password };
    const path = '/api/collections/users/auth-with-password';
    return (await service.request(path, { method: 'POST', body })).status;
  };
  for (let times = 0; times < 3; times += 1) {
    assert.equal(await signIn(account.email, 'canary'), 400);
    assert.equal(await signIn('canary@example.com', account.password), 400);
    assert.equal(await signIn(account.email, account.password), 200);
  }
  await send(service, 'PATCH /api/collections/users', { authRule: null });
  assert.equal(await signIn(account.email, account.password), 403);
  const users = '_pb_users_auth_';
  await eventually('all are in the log', async () => {
    const entries = await entriesOf(service, `action = 'sign-in' && collection = '${users}'`);
    const counts = new Map<string, number>();
    // The minute may have ended between two of them.
    for (const { outcome, actor, target, details, count } of entries) {
      const key = JSON.stringify([outcome, actor, target, details]);
      counts.set(key, (counts.get(key) ?? 0) + Number(count));
    }
    assert.deepEqual(
      Object.fromEntries(counts),
      Object.fromEntries(
        [
          [['refused', 'guest', id, { reason: 'credentials' }], 3],
          [['refused', 'guest', '', { reason: 'credentials' }], 3],
          [['done', 'user', id, {}], 3],
          [['refused', 'guest', id, { reason: 'rule' }], 1],
        ].map(([key, count]) => [JSON.stringify(key), count]),
      ),
    );
    assert.ok(!JSON.stringify(entries).includes('canary'));
    for (const entry of entries) assert.equal(entry['address'], '127.0.0.1');
    return true;
  });
});

test('keys that are not valid, and sign-ins that come too often or from elsewhere, are in the log', async (t) => {
  const service = await startService(t, { flags: { 'trusted-proxies': '127.0.0.1' } });
  const own = { 'x-forwarded-for': '192.0.2.1' };
  const elsewhere = { 'x-forwarded-for': '192.0.2.2' };
  const body = { superuserIPs: ['192.0.2.1'] };
  await service.request('/api/settings', { method: 'PATCH', token: true, headers: own, body });
  assert.equal(
    (await service.request('/api/health', { token: 'ck_canary', headers: elsewhere })).status,
    401,
  );
  const path = '/api/collections/_superusers/auth-with-password';
  const wrong = { identity: 'root@example.com', password: 'wrong' };
  const signIn = async (headers: Readonly<Record<string, string>>): Promise<number> =>
    (await service.request(path, { method: 'POST', headers, body: wrong })).status;
  assert.equal(await signIn(elsewhere), 403);
  let status = 400;
  for (let times = 0; times < 60 && status === 400; times += 1) status = await signIn(own);
  assert.equal(status, 429);
  await eventually('the refusals are in the log', async () => {
    const query = new URLSearchParams({ filter: "outcome = 'refused'" }).toString();
    const { json } = await service.request(`/api/audit?${query}`, { token: true, headers: own });
    const entries: readonly Entry[] = json.items;
    const reasons = entries.map(({ action, address, details }) => JSON.stringify([action, address, details]));
    for (const expected of [
      ['key.use', '192.0.2.2', {}],
      ['sign-in', '192.0.2.2', { reason: 'place' }],
      ['sign-in', '192.0.2.1', { reason: 'credentials' }],
      ['sign-in', '192.0.2.1', { reason: 'too many' }],
    ])
      assert.ok(
        reasons.includes(JSON.stringify(expected)),
        `${JSON.stringify(expected)} in ${reasons.join(' ')}`,
      );
    assert.ok(!JSON.stringify(entries).includes('canary'));
    return true;
  });
});

test('a stop writes what is still to be written', async (t) => {
  const service = await startService(t);
  const body = { identity: 'nobody@example.com', password: 'wrong' };
  const path = '/api/collections/users/auth-with-password';
  for (let times = 0; times < 5; times += 1) await service.request(path, { method: 'POST', body });
  await service.stop();
  const again = await startService(t, { data: service.data });
  const entries = await entriesOf(again, "outcome = 'refused'");
  assert.equal(
    entries.reduce((sum, { count }) => sum + Number(count), 0),
    5,
  );
});
