// Both engines: accounts are rows, changed under locks.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import PocketBase from 'pocketbase';
import { sql } from '../../src/sql/sql.ts';
import { Accounts, codes, password, users } from '../support/accounts.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import { startService, type TestAnswer } from '../support/service.ts';

const setUp = (t: TestContext): Promise<Accounts> => Accounts.start(t);

test('a guest signs up, signs in, and is known by the token', async (t) => {
  const stage = await setUp(t);
  const body = { email: 'ann@example.com', password, passwordConfirm: password, name: 'Ann' };
  const made = await stage.ask('POST', users, { body });
  assert.equal(made.status, 201);
  assert.deepEqual(Object.keys(made.json), [
    'collectionId',
    'collectionName',
    'id',
    'emailVisibility',
    'verified',
    'name',
    'avatar',
    'created',
    'updated',
  ]);
  const signedIn = await stage.signIn('ann@example.com');
  assert.equal(signedIn.status, 200);
  const { record, token } = signedIn.json;
  assert.deepEqual([record.id, record.email, record.verified], [made.json.id, 'ann@example.com', false]);
  assert.equal((await stage.ask('GET', users)).json.totalItems, 0);
  const own = await stage.ask('GET', users, { token });
  assert.deepEqual(own.json.items, [record]);
  assert.equal(
    (await stage.ask('GET', `${users}/${record.id}`, { token: `Bearer ${token}` })).text,
    JSON.stringify(record),
  );
  assert.equal((await stage.signIn('ann@example.com', 'wrong')).status, 400);
  // What is for superusers is not for users: they are told so, guests are asked who they are.
  for (const [method, path] of [
    ['GET', '/api/collections'],
    ['POST', `/api/collections/users/impersonate/${record.id}`],
    ['GET', '/api/webhooks/endpoints'],
  ] as const) {
    const answer = await stage.ask(method, path, { token });
    assert.deepEqual(
      [answer.status, answer.json.message],
      [403, 'The authorized record is not allowed to perform this action.'],
    );
    assert.equal((await stage.ask(method, path)).status, 401);
  }
  assert.equal('engine' in (await stage.ask('GET', '/api/health', { token })).json.data, false);
});

test('A-23 what a stranger may not say of an account is refused by member, before its fields are looked at', async (t) => {
  const stage = await setUp(t);
  const required = 'validation_required';
  const mismatch = 'validation_values_mismatch';
  const good = { email: 'ann@example.com', password, passwordConfirm: password };
  for (const [body, expected] of [
    [{ email: 'nonsense' }, { password: required, passwordConfirm: required }],
    [{ ...good, passwordConfirm: 'other' }, { passwordConfirm: mismatch }],
    [{ ...good, passwordConfirm: undefined }, { passwordConfirm: required }],
    [{ ...good, verified: true }, { verified: mismatch }],
    [
      { ...good, password: 'short', passwordConfirm: 'short' },
      { password: 'validation_min_text_constraint' },
    ],
    [{ ...good, email: '' }, { email: required }],
    [{ ...good, email: 'nonsense' }, { email: 'validation_is_email' }],
  ] as const) {
    const answer = await stage.ask('POST', users, { body });
    assert.deepEqual([answer.status, codes(answer)], [400, expected], JSON.stringify(body));
  }
  const answer = await stage.ask('POST', users, {
    body: {
      ...good,
      tokenKey: 'x'.repeat(50),
      passwordHash: 'x',
      collectionId: 'pbc_3142635823',
      created: '2001-01-01',
    },
  });
  assert.equal(answer.status, 201);
  assert.deepEqual(
    [answer.json.collectionName, String(answer.json.created).startsWith('2001')],
    ['users', false],
  );
  const twice = await stage.ask('POST', users, { body: good });
  assert.deepEqual(codes(twice), { email: 'validation_not_unique' });
  const key = await stage.service.withInstance('default', ({ database }) =>
    database.get(
      sql`SELECT value FROM ${database.names.table('$secret')} WHERE ${database.names.instance.condition} AND record = ${answer.json.id} AND name = 'tokenKey'`,
    ),
  );
  assert.match(String(key?.['value']), /^[A-Za-z0-9]{50}$/);
  assert.notEqual(key?.['value'], 'x'.repeat(50));
});

test('a create rule that refuses says nothing of the account, and sees it unverified', async (t) => {
  const stage = await setUp(t);
  await stage.define({ createRule: "verified = false && name = 'Ann'" });
  const body = { email: 'ann@example.com', password, passwordConfirm: password };
  const refused = await stage.ask('POST', users, { body: { ...body, passwordConfirm: 'other' } });
  assert.deepEqual([refused.status, refused.json.data], [400, {}]);
  const verified = await stage.ask('POST', users, { body: { ...body, name: 'Ann', verified: true } });
  assert.deepEqual(codes(verified), { verified: 'validation_values_mismatch' });
  assert.equal((await stage.ask('POST', users, { body: { ...body, name: 'Ann' } })).status, 201);
});

test('A-25 an owner changes the password with the old one, and neither address nor verification', async (t) => {
  const stage = await setUp(t);
  const { id, token, email } = await stage.account('ann');
  const next = { password: 'another horse', passwordConfirm: 'another horse' };
  for (const [body, expected] of [
    [next, { oldPassword: 'validation_required' }],
    [{ ...next, oldPassword: 'wrong' }, { oldPassword: 'validation_invalid_old_password' }],
    [{ password: next.password, oldPassword: password }, { passwordConfirm: 'validation_required' }],
    [
      { passwordConfirm: 'x', oldPassword: password },
      { password: 'validation_required', passwordConfirm: 'validation_values_mismatch' },
    ],
    [{ email: 'other@example.com' }, { email: 'validation_values_mismatch' }],
    [{ verified: true }, { verified: 'validation_values_mismatch' }],
  ] as const) {
    const answer = await stage.update(id, body, token);
    assert.deepEqual([answer.status, codes(answer)], [400, expected], JSON.stringify(body));
  }
  // The same as they are, they are no change; and a stranger is not told that there is such an account.
  assert.equal((await stage.update(id, { email, verified: false }, token)).status, 200);
  assert.equal((await stage.update(id, { ...next, oldPassword: password })).status, 404);
  assert.equal((await stage.update(id, { name: 'Annie' }, token)).json.name, 'Annie');
  assert.equal((await stage.ask('GET', users, { token })).json.totalItems, 1);

  const changed = await stage.update(id, { ...next, oldPassword: password }, token);
  assert.equal(changed.status, 200);
  // Every session is over, this one too.
  assert.equal((await stage.ask('GET', users, { token })).json.totalItems, 0);
  assert.equal((await stage.signIn(email)).status, 400);
  assert.equal((await stage.signIn(email, 'another horse')).status, 200);
});

test('who is nobody manages no account, whatever the manage rule says', async (t) => {
  const stage = await setUp(t);
  const { id } = await stage.account('ann');
  await stage.define({ updateRule: '', manageRule: "id != ''" });
  const asGuest = await stage.update(id, { verified: true });
  assert.deepEqual([asGuest.status, codes(asGuest)], [400, { verified: 'validation_values_mismatch' }]);
  const bob = await stage.account('bob');
  assert.equal((await stage.update(id, { verified: true }, bob.token)).status, 200);
});

test('A-23 nobody manages an account by saying of it that it is verified while making it', async (t) => {
  const stage = await setUp(t);
  await stage.define({ manageRule: 'verified = true' });
  const { token } = await stage.account('ann');
  const body = { email: 'bob@example.com', password, passwordConfirm: password };
  const verified = await stage.ask('POST', users, { token, body: { ...body, verified: true } });
  assert.deepEqual([verified.status, codes(verified)], [400, { verified: 'validation_values_mismatch' }]);
  assert.equal((await stage.ask('POST', users, { token, body })).status, 201);
});

test('A-15 who was wrong about an old password too often may not go on, and keeps nobody else from changing it', async (t) => {
  const clock = new MovableClock();
  const stage = await Accounts.start(t, { parts: { clock } });
  await stage.define({ updateRule: '', authToken: { duration: 3_600 } });
  const { id, token } = await stage.account('ann');
  const next = { password: 'another horse', passwordConfirm: 'another horse' };
  const tries = Array.from({ length: 20 }, (_, at) => `wrong ${at}`);
  for (const oldPassword of tries)
    assert.equal((await stage.update(id, { ...next, oldPassword }, token)).status, 400);
  const refused = await stage.update(id, { ...next, oldPassword: password }, token);
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '300']);
  // Others are counted for themselves, and what needs no old password is not asked.
  assert.equal((await stage.update(id, { ...next, oldPassword: 'wrong' })).status, 400);
  assert.equal((await stage.update(id, { name: 'Annie' }, token)).status, 200);
  clock.move(300_000);
  assert.equal((await stage.update(id, { ...next, oldPassword: password }, token)).status, 200);
});

test('of two changes of a password at once, both with the old one, one is made', async (t) => {
  const stage = await setUp(t);
  const { id, token, email } = await stage.account('ann');
  const words = ['first horse', 'second horse', 'third horse'];
  const answers = await Promise.all(
    words.map((word) =>
      stage.update(id, { password: word, passwordConfirm: word, oldPassword: password }, token),
    ),
  );
  const statuses = answers.map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 200).length, 1, String(statuses));
  // The others were too late: by the old password that is none any more, or by the token.
  assert.ok(
    statuses.every((status) => [200, 400, 404, 409].includes(status)),
    String(statuses),
  );
  const good = await Promise.all(words.map(async (word) => (await stage.signIn(email, word)).status));
  assert.deepEqual(
    good,
    statuses.map((status) => (status === 200 ? 200 : 400)),
  );
});

test('a superuser changes everything without the old password, and ends sessions by another address or a new key', async (t) => {
  const stage = await setUp(t);
  const { id, token, email } = await stage.account('ann');
  // Each time so often that its key is known.
  const isIn = async (one: string): Promise<boolean> => {
    const seen: unknown[] = [];
    for (let times = 0; times < 3; times += 1)
      seen.push((await stage.ask('GET', users, { token: one })).json.totalItems);
    assert.ok(seen.every((count) => count === seen[0]));
    return seen[0] === 1;
  };
  assert.equal((await stage.update(id, { verified: true }, true)).json.verified, true);
  assert.equal(await isIn(token), true);
  assert.equal((await stage.update(id, { email: 'new@example.com' }, true)).json.email, 'new@example.com');
  assert.equal(await isIn(token), false);
  const second: string = (await stage.signIn('new@example.com')).json.token;
  assert.equal(await isIn(second), true);
  await stage.update(id, { 'tokenKey:autogenerate': '' }, second);
  assert.equal(await isIn(second), true, 'to others it is no field');
  assert.equal((await stage.update(id, { 'tokenKey:autogenerate': '' }, true)).status, 200);
  assert.equal(await isIn(second), false);
  const next = { password: 'another horse', passwordConfirm: 'another horse' };
  assert.equal((await stage.update(id, next, true)).status, 200);
  assert.equal((await stage.signIn(email)).status, 400);
  assert.equal((await stage.signIn('new@example.com', 'another horse')).status, 200);
});

test('rules know who asks: by id, by members of the account, and by what it leads to', async (t) => {
  const stage = await setUp(t);
  await stage.define({
    fields: [
      ...(await stage.ask('GET', '/api/collections/users', { token: true })).json.fields,
      { name: 'role', type: 'text' },
    ],
  });
  const ann = await stage.account('ann', { role: 'editor' });
  const bob = await stage.account('bob');
  await stage.ask('POST', '/api/collections', {
    token: true,
    body: {
      name: 'posts',
      listRule: "owner = @request.auth.id || @request.auth.role = 'editor'",
      createRule: "@request.auth.collectionName = 'users' && @request.body.owner = @request.auth.id",
      deleteRule: 'owner.id = @request.auth.id',
      fields: [{ name: 'owner', type: 'relation', collectionId: '_pb_users_auth_', cascadeDelete: true }],
    },
  });
  const posts = '/api/collections/posts/records';
  const create = (owner: string, token?: string): Promise<TestAnswer> =>
    stage.ask('POST', posts, { body: { owner }, ...(token === undefined ? {} : { token }) });
  const made = await create(bob.id, bob.token);
  assert.deepEqual(
    [made.status, (await create(ann.id, bob.token)).status, (await create(bob.id)).status],
    [201, 400, 400],
  );
  await create(ann.id, ann.token);
  const count = async (token?: string): Promise<number> =>
    (await stage.ask('GET', posts, token === undefined ? {} : { token })).json.totalItems;
  assert.deepEqual([await count(), await count(bob.token), await count(ann.token)], [0, 1, 2]);
  assert.equal((await stage.ask('DELETE', `${posts}/${made.json.id}`, { token: ann.token })).status, 404);
  // With the account goes what belongs to it, and the token is nobody's.
  assert.equal((await stage.ask('DELETE', `${users}/${bob.id}`, { token: bob.token })).status, 204);
  assert.deepEqual([await count(bob.token), await count(ann.token)], [0, 1]);
  const left = await stage.service.withInstance('default', ({ database }) =>
    database.all(
      sql`SELECT 1 AS one FROM ${database.names.table('$secret')} WHERE ${database.names.instance.condition} AND record = ${bob.id}`,
    ),
  );
  assert.equal(left.length, 0);
});

test('A-10 an account that was deleted and made again under its id does not honour its old token', async (t) => {
  const stage = await setUp(t);
  const id = 'ann000000000000';
  const ann = await stage.account('ann', { id });
  await stage.ask('DELETE', `${users}/${id}`, { token: true });
  assert.equal((await stage.ask('GET', users, { token: ann.token })).json.totalItems, 0);
  const again = await stage.account('ann', { id });
  assert.equal((await stage.ask('GET', users, { token: ann.token })).json.totalItems, 0);
  assert.equal((await stage.ask('GET', users, { token: again.token })).json.totalItems, 1);
});

test('no two accounts have one id, whatever collections they are in', async (t) => {
  const stage = await setUp(t);
  await stage.ask('POST', '/api/collections', {
    token: true,
    body: { name: 'staff', type: 'auth', createRule: '' },
  });
  const id = 'ann000000000000';
  await stage.account('ann', { id });
  const body = { id, email: 'ann@example.com', password, passwordConfirm: password };
  const refused = await stage.ask('POST', '/api/collections/staff/records', { body });
  assert.deepEqual([refused.status, codes(refused)], [400, { id: 'validation_invalid_auth_id' }]);
  assert.equal(
    (await stage.ask('POST', '/api/collections/staff/records', { body: { ...body, id: '' } })).status,
    201,
  );
});

test('superusers are made and deleted as records, verified by nature; the last one stays', async (t) => {
  const stage = await setUp(t);
  const path = '/api/collections/_superusers/records';
  const body = { email: 'two@example.com', password, passwordConfirm: password };
  assert.equal((await stage.ask('POST', path, { body })).status, 403);
  const made = await stage.ask('POST', path, { body, token: true });
  assert.deepEqual([made.status, made.json.verified, made.json.email], [201, true, 'two@example.com']);
  const signedIn = await stage.signIn('two@example.com', password, '_superusers');
  assert.equal((await stage.ask('GET', '/api/collections', { token: signedIn.json.token })).status, 200);
  const changed = await stage.ask('PATCH', `${path}/${made.json.id}`, {
    body: { verified: false },
    token: true,
  });
  assert.equal(changed.json.verified, true);
  const all = await stage.ask('GET', path, { token: true });
  assert.equal(
    (await stage.ask('DELETE', '/api/collections/_superusers/truncate', { token: true })).status,
    400,
  );
  const items: readonly { readonly id: string }[] = all.json.items;
  const token: string = signedIn.json.token;
  const deleted = await Promise.all(items.map(({ id }) => stage.ask('DELETE', `${path}/${id}`, { token })));
  assert.deepEqual(
    deleted.map(({ status }) => status).toSorted((one, other) => one - other),
    [204, 400],
  );
  const refused = deleted.find(({ status }) => status === 400);
  assert.equal(refused?.json.message, "You can't delete the only existing superuser.");
});

test('the SDK signs up, in, refreshes, asks for methods and impersonates', async (t) => {
  const service = await startService(t);
  const pb = new PocketBase(service.url);
  const email = 'ann@example.com';
  const made = await pb
    .collection('users')
    .create({ email, password, passwordConfirm: password, name: 'Ann' });
  const { record, token } = await pb.collection('users').authWithPassword(email, password);
  assert.deepEqual(
    [record.id, record['email'], pb.authStore.isValid, pb.authStore.isSuperuser],
    [made.id, email, true, false],
  );
  const refreshed = await pb.collection('users').authRefresh();
  assert.equal(refreshed.record['email'], email);
  assert.ok(refreshed.token.length > 0 && token.length > 0);
  const methods = await pb.collection('users').listAuthMethods();
  assert.deepEqual(methods, {
    password: { identityFields: ['email'], enabled: true },
    oauth2: { providers: [], enabled: false },
    mfa: { enabled: false, duration: 0 },
    otp: { enabled: false, duration: 0 },
  });
  const root = await superuserSdk(service);
  const asAnn = await root.collection('users').impersonate(made.id, 60);
  assert.equal((await asAnn.collection('users').getOne(made.id))['email'], email);
  assert.equal((await refusalOf(pb.collection('users').impersonate(made.id, 60))).status, 403);
  const { token: kept } = asAnn.authStore;
  assert.equal((await asAnn.collection('users').authRefresh()).token, kept);
  await pb
    .collection('users')
    .update(made.id, { oldPassword: password, password: 'another horse', passwordConfirm: 'another horse' });
  assert.equal((await refusalOf(asAnn.collection('users').authRefresh())).status, 401);
  assert.equal((await refusalOf(pb.collection('users').authRefresh())).status, 401);
});

test('accounts are made, changed and deleted in a batch as by themselves', async (t) => {
  const stage = await setUp(t);
  const id = 'ann000000000000';
  const body = { id, email: 'ann@example.com', password, passwordConfirm: password };
  const requests = [
    { method: 'POST', url: users, body },
    { method: 'PUT', url: users, body: { id, name: 'Ann' } },
  ];
  const batch = await stage.ask('POST', '/api/batch', { body: { requests: requests.slice(0, 1) } });
  assert.equal(batch.status, 200, batch.text);
  const { token } = (await stage.signIn('ann@example.com')).json;
  const again = await stage.ask('POST', '/api/batch', { body: { requests: requests.slice(1) }, token });
  assert.deepEqual([again.status, again.json[0]?.body.name], [200, 'Ann'], again.text);
});
