// Both engines: keys are rows, and their last use is written under a condition.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import PocketBase from 'pocketbase';
import { noteKeyUse } from '../../src/auth/key-rows.ts';
import { sql } from '../../src/sql/sql.ts';
import type { Database } from '../../src/storage/database.ts';
import { eventually } from '../support/eventually.ts';
import { FaultyDatabase } from '../support/faulty-database.ts';
import { makeKey } from '../support/make-key.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

const scopes = ['records:read', 'records:write'];

function make(service: TestService, body: object): Promise<TestAnswer> {
  return service.request('/api/keys', { method: 'POST', token: true, body });
}

async function listed(service: TestService): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return (await service.request('/api/keys', { token: true })).json.items;
}

/** The status of a route that everybody may use. */
async function statusOf(service: TestService, token: string): Promise<number> {
  return (await service.request('/api/health', { token })).status;
}

test('a key is shown when it is made and never again, and only a digest of it is kept', async (t) => {
  const service = await startService(t);
  const made = await make(service, { name: 'ci', scopes, collections: ['users'], expires: '2999-01-01' });
  assert.equal(made.status, 201, made.text);
  assert.equal(made.headers.get('cache-control'), 'no-store');
  const { key, ...shown } = made.json;
  assert.match(key, new RegExp(`^ck_${shown.id}[0-9A-Za-z]{43}$`));
  assert.deepEqual(Object.keys(shown), [
    'id',
    'name',
    'scopes',
    'collections',
    'endpoints',
    'expires',
    'created',
    'lastUsed',
  ]);
  assert.deepEqual(
    [shown.name, shown.scopes, shown.collections, shown.expires, shown.lastUsed],
    ['ci', scopes, ['_pb_users_auth_'], '2999-01-01 00:00:00.000Z', ''],
  );
  assert.deepEqual(await listed(service), [shown]);
  const rows = await service.withInstance('default', ({ database }) =>
    database.all(sql`SELECT * FROM ${database.names.table('$api_key')}`),
  );
  assert.equal(rows.length, 1);
  const values = rows.flatMap((row) => Object.values(row)).map(String);
  assert.ok(!values.some((value) => value.includes(String(key).slice(-43))));
});

test('a key is good as it is and after Bearer, wherever a token is, in the SDK as well', async (t) => {
  const service = await startService(t);
  const { key } = await makeKey(service, scopes);
  const path = '/api/collections/users/records';
  const ben = { email: 'ben@example.com', password: 'correct horse', passwordConfirm: 'correct horse' };
  assert.equal((await service.request(path, { method: 'POST', body: ben })).status, 201);
  // A guest sees nobody.
  const seen = async (token: string): Promise<number> =>
    (await service.request(path, { token })).json.totalItems;
  for (const word of ['', 'Bearer ', 'bearer ', 'Bearer  ', 'Bearer\t'])
    assert.equal(await seen(word + key), 1, JSON.stringify(word));
  for (const word of ['Bearer', 'Bearer Bearer ', 'Basic ']) assert.equal(await seen(word + key), 0, word);
  const pb = new PocketBase(service.url);
  pb.authStore.save(key);
  const account = { email: 'ann@example.com', password: 'correct horse', passwordConfirm: 'correct horse' };
  const { id } = await pb.collection('users').create(account);
  // Which only a superuser sees of an address that its owner hides.
  assert.equal((await pb.collection('users').getOne(id))['email'], account.email);
  assert.equal(await pb.collection('users').delete(id), true);
});

test('a key that is wrong, expired or revoked is refused on every route, also where guests may come', async (t) => {
  const clock = new MovableClock();
  const service = await startService(t, { parts: { clock } });
  const expires = new Date(clock.now() + 60_000).toISOString();
  const [lasting, expiring] = [await makeKey(service, scopes), await makeKey(service, scopes, { expires })];
  for (const { key } of [lasting, expiring]) assert.equal(await statusOf(service, key), 200);
  const last = lasting.key.at(-1) === 'a' ? 'b' : 'a';
  const wrong = [
    'ck_',
    'ck_x',
    lasting.key.slice(0, -1) + last,
    `${lasting.key}x`,
    `ck_${'x'.repeat(15)}${lasting.key.slice(-43)}`,
    `ck_${lasting.id}${expiring.key.slice(-43)}`,
    `ck_'; DROP TABLE x; --`,
  ];
  for (const key of wrong) {
    const answer = await service.request('/api/health', { token: key });
    assert.equal(answer.status, 401, key);
    assert.deepEqual(answer.json, {
      data: {},
      message: 'The API key is not valid, has expired or was revoked.',
      status: 401,
    });
    assert.equal((await service.request('/api/keys', { token: key })).status, 401, key);
  }
  assert.equal(await statusOf(service, 'no key and no token'), 200, 'a wrong token is a guest');
  clock.move(59_999);
  assert.equal(await statusOf(service, expiring.key), 200);
  clock.move(1);
  assert.equal(await statusOf(service, expiring.key), 401);
  const path = `/api/keys/${lasting.id}`;
  assert.equal((await service.request(path, { method: 'DELETE', token: true })).status, 204);
  assert.equal(await statusOf(service, lasting.key), 401);
  assert.equal((await service.request(path, { method: 'DELETE', token: true })).status, 404);
});

test('a key may ask what it is, whatever its scopes, and nobody else may', async (t) => {
  const service = await startService(t);
  const path = '/api/keys/current';
  const made = await makeKey(service, ['webhooks:read'], { expires: '2999-01-01 00:00:00.000Z' });
  const { status, json } = await service.request(path, { token: made.key });
  assert.equal(status, 200);
  const { id, name, scopes: own, collections, expires } = json;
  assert.deepEqual(
    { id, name, own, collections, expires },
    {
      id: made.id,
      name: 'test',
      own: ['webhooks:read'],
      collections: null,
      expires: '2999-01-01 00:00:00.000Z',
    },
  );
  assert.ok(!('key' in json));
  assert.equal((await service.request(path, { token: true })).status, 403, 'a superuser sends no key');
  assert.equal((await service.request(path)).status, 401);
  assert.equal((await service.request(path, { token: `${made.key.slice(0, -1)}_` })).status, 401);
});

test('a key of one instance is no key of another', async (t) => {
  const service = await startService(t);
  await service.app.data.directory.create('other', null);
  const { key } = await makeKey(service, ['admin']);
  assert.equal((await service.request('/i/other/api/health', { token: key })).status, 401);
  assert.equal((await service.request('/i/default/api/keys', { token: key })).status, 200);
});

test('keys are made, listed and revoked by superusers and by keys for everything, and by nobody else', async (t) => {
  const service = await startService(t);
  const account = { email: 'ann@example.com', password: 'correct horse', passwordConfirm: 'correct horse' };
  await service.request('/api/collections/users/records', { method: 'POST', body: account });
  const body = { identity: account.email, password: account.password };
  const path = '/api/collections/users/auth-with-password';
  const user = String((await service.request(path, { method: 'POST', body })).json.token);
  const { key } = await makeKey(service, ['admin']);
  const every = ['records:read', 'records:write', 'collections:read', 'collections:write'];
  const short = (await makeKey(service, [...every, 'webhooks:read', 'webhooks:write'])).key;
  for (const [token, status] of [
    [undefined, 401],
    [user, 403],
    [short, 403],
  ] as const) {
    const asked = token === undefined ? {} : { token };
    const answers = [
      await service.request('/api/keys', asked),
      await service.request('/api/keys', { method: 'POST', body: { name: 'x', scopes }, ...asked }),
      await service.request('/api/keys/x', { method: 'DELETE', ...asked }),
    ];
    for (const answer of answers) assert.equal(answer.status, status, answer.text);
  }
  assert.equal((await service.request('/api/keys', { token: key })).json.totalItems, 2);
});

test('what is wrong with a key is told by member, and nothing is made', async (t) => {
  const service = await startService(t);
  const cases: readonly (readonly [object, readonly string[]])[] = [
    [{}, ['name', 'scopes']],
    [{ name: '', scopes: [] }, ['name', 'scopes']],
    [{ name: 1, scopes: 'admin' }, ['name', 'scopes']],
    [{ name: 'x'.repeat(256), scopes: ['records'] }, ['name', 'scopes']],
    [{ name: 'x', scopes: ['admin', 'root'] }, ['scopes']],
    [{ name: 'x', scopes, collections: [] }, ['collections']],
    [{ name: 'x', scopes, collections: 'users' }, ['collections']],
    [{ name: 'x', scopes, collections: [1] }, ['collections']],
    [{ name: 'x', scopes, collections: ['nothing'] }, ['collections']],
    [{ name: 'x', scopes, collections: ['_superusers'] }, ['collections']],
    [{ name: 'x', scopes: ['admin'], collections: ['users'] }, ['collections']],
    [{ name: 'x', scopes: ['records:read', 'webhooks:write'], collections: ['users'] }, ['collections']],
    [{ name: 'x', scopes: ['collections:write'], collections: ['users'] }, ['collections']],
    [{ name: 'x', scopes, expires: 'tomorrow' }, ['expires']],
    [{ name: 'x', scopes, expires: 1 }, ['expires']],
    [{ name: 'x', scopes, expires: '2001-01-01' }, ['expires']],
    [{ name: 'x', scopes, collection: 'posts', expiry: '' }, ['collection', 'expiry']],
    [{ name: 'x', scopes, constructor: 1 }, ['constructor']],
  ];
  for (const [body, members] of cases) {
    const answer = await make(service, body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.equal(answer.json.message, 'Failed to create API key.');
    assert.deepEqual(Object.keys(answer.json.data), members, JSON.stringify(body));
  }
  assert.deepEqual(await listed(service), []);
  const slip = await make(service, { name: 'x', scope: ['admin'] });
  const message = 'There is no such member. Did you mean scopes?';
  assert.deepEqual(slip.json.data.scope, { code: 'validation_unknown_field', message });
  const { json: shown } = await make(service, { name: 'x', scopes });
  assert.equal((await make(service, shown)).status, 201, 'as it was shown');
});

test('keys are listed by pages, filters and orders as everything is', async (t) => {
  const service = await startService(t);
  for (const name of ['b', 'a', 'c']) await make(service, { name, scopes });
  const names = async (query: string): Promise<unknown> => {
    const { json } = await service.request(`/api/keys?${query}`, { token: true });
    const items: readonly { readonly name: string }[] = json.items;
    return [items.map(({ name }) => name).join(' '), json.totalItems];
  };
  assert.deepEqual(await names(''), ['b a c', 3]);
  assert.deepEqual(await names('sort=-name&perPage=2'), ['c b', 3]);
  assert.deepEqual(await names("filter=(name>='b' %26%26 lastUsed='')&skipTotal=1"), ['b c', -1]);
  for (const query of ["filter=(digest='x')", 'sort=digest', "filter=(scopes~'admin')"]) {
    const { status } = await service.request(`/api/keys?${query}`, { token: true });
    assert.equal(status, 400, query);
  }
});

test('the last use of a key is written once a minute', async (t) => {
  const clock = new MovableClock();
  const service = await startService(t, { parts: { clock } });
  const { key } = await makeKey(service, scopes);
  const start = clock.now();
  const seen = (what: string, atMs: number): Promise<unknown> =>
    eventually(what, async () => {
      const [item] = await listed(service);
      return item?.['lastUsed'] === new Date(atMs).toISOString().replace('T', ' ');
    });
  assert.equal(await statusOf(service, key), 200);
  await seen('the first use', start);
  clock.move(59_999);
  assert.equal(await statusOf(service, key), 200);
  // Had the second use been written, it would have been before this write, which came later.
  await service.withInstance('default', (instance) => instance.database.write(async () => undefined));
  await seen('still the first use', start);
  clock.move(1);
  assert.equal(await statusOf(service, key), 200);
  await seen('a use a minute later', start + 60_000);
});

test('a use is written once where many requests come at once, and not where another node has written it', async (t) => {
  const clock = new MovableClock();
  const databases: FaultyDatabase[] = [];
  const wrapDatabase = (database: Database): Database => {
    const wrapped = new FaultyDatabase(database);
    databases.push(wrapped);
    return wrapped;
  };
  const service = await startService(t, { parts: { clock, wrapDatabase } });
  const count = (): number => databases.flatMap(({ options }) => options).length;
  await service.withInstance('default', async (instance) => {
    const before = count();
    const written = new Date(clock.now()).toISOString().replace('T', ' ');
    noteKeyUse(instance, 'elsewhere', written);
    assert.equal(count(), before);
    for (let times = 0; times < 10; times += 1) noteKeyUse(instance, 'here', '');
    assert.equal(count(), before + 1);
  });
});

test('a key comes from where superusers may come from', async (t) => {
  const service = await startService(t, { flags: { 'trusted-proxies': '127.0.0.1' } });
  const { key } = await makeKey(service, scopes);
  const at = (address: string): { readonly headers: Readonly<Record<string, string>> } => ({
    headers: { 'x-forwarded-for': address },
  });
  const body = { superuserIPs: ['192.0.2.1'] };
  const own = at('192.0.2.1');
  await service.request('/api/settings', { method: 'PATCH', token: true, body, ...own });
  const path = '/api/collections/users/records';
  assert.equal((await service.request(path, { token: key, ...own })).status, 200);
  assert.equal((await service.request(path, { token: key, ...at('192.0.2.2') })).status, 403);
});

test('an instance has a thousand keys and no more', async (t) => {
  const service = await startService(t);
  await service.withInstance('default', ({ database }) =>
    database.write(async (tx) => {
      for (let at = 1; at < 1_000; at += 1)
        await tx.run(sql`
          INSERT INTO ${tx.names.table('$api_key')}
            (${tx.names.instance.column}id, name, digest, scopes, collections, expires, created, last_used)
          VALUES (${tx.names.instance.value}${`key${at}`}, 'x', 'x', '["admin"]', 'null', '', '', '')`);
    }),
  );
  assert.equal((await make(service, { name: 'the last', scopes })).status, 201);
  const { status, json } = await make(service, { name: 'one more', scopes });
  assert.deepEqual(
    [status, json.message],
    [400, 'Failed to create API key. There can be at most 1000 keys.'],
  );
});

test('what a key was answered under an idempotency key is nothing to a superuser or to another key', async (t) => {
  const service = await startService(t);
  const [one, other] = [await makeKey(service, ['admin']), await makeKey(service, ['admin'])];
  const create = (token: string | true, email: string): Promise<TestAnswer> =>
    service.request('/api/collections/users/records', {
      method: 'POST',
      token,
      headers: { 'idempotency-key': 'same' },
      body: { email, password: 'correct horse', passwordConfirm: 'correct horse' },
    });
  assert.equal((await create(one.key, 'a@example.com')).status, 201);
  assert.equal((await create(one.key, 'a@example.com')).headers.get('idempotent-replayed'), 'true');
  assert.equal((await create(other.key, 'b@example.com')).status, 201);
  assert.equal((await create(true, 'c@example.com')).status, 201);
  const twin = {
    id: one.id,
    email: 'twin@example.com',
    password: 'correct horse',
    passwordConfirm: 'correct horse',
  };
  const path = '/api/collections/_superusers';
  await service.request(`${path}/records`, { method: 'POST', token: true, body: twin });
  const body = { identity: twin.email, password: twin.password };
  const { json } = await service.request(`${path}/auth-with-password`, { method: 'POST', body });
  assert.equal((await create(String(json.token), 'd@example.com')).status, 201);
});

test('to a version that knows nothing of endpoints, a key that is bound to some has no scope', async (t) => {
  const service = await startService(t);
  const body = { url: 'http://127.0.0.1:9/', status: 'paused' };
  const endpoint = await service.request('/api/webhooks/endpoints', { method: 'POST', token: true, body });
  const own = ['webhooks:read', 'webhooks:write'];
  const { id } = await makeKey(service, own, { endpoints: [endpoint.json.id] });
  const rows = await service.withInstance('default', ({ database }) =>
    database.all(
      sql`SELECT scopes FROM ${database.names.table('$api_key')} WHERE ${database.names.instance.condition} AND id = ${id}`,
    ),
  );
  const stored = String(rows[0]?.['scopes']);
  for (const scope of own) assert.ok(!stored.includes(`"${scope}"`), stored);
});
