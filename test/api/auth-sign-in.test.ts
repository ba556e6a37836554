// Both engines: identities are found by indexes in any letter case.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ensureFoldedIndexes } from '../../src/collections/tables.ts';
import { findTokenKey } from '../../src/auth/tokens.ts';
import { signToken } from '../../src/secrets/token.ts';
import { sql } from '../../src/sql/sql.ts';
import { Accounts, codes, password, users } from '../support/accounts.ts';
import { MovableClock } from '../support/movable-clock.ts';

const path = '/api/collections/users';

test('the auth rule is asked of the account at every sign-in and refresh, in the context of a password', async (t) => {
  const stage = await Accounts.start(t);
  const ann = await stage.account('ann');
  const message = "The request doesn't satisfy the collection requirements to authenticate.";
  const refusals = async (token: string): Promise<void> => {
    for (const answer of [
      await stage.signIn(ann.email),
      await stage.ask('POST', `${path}/auth-refresh`, { token }),
    ])
      assert.deepEqual([answer.status, answer.json.message], [403, message]);
  };
  for (const authRule of [null, 'verified = true', "name = 'bob'"]) {
    await stage.define({ authRule });
    const { status, json } = await stage.signIn(ann.email);
    assert.deepEqual([status, json.message], [403, message]);
  }
  assert.equal(
    (await stage.signIn(ann.email, 'wrong')).status,
    400,
    'a wrong password is told nothing of the rule',
  );
  await stage.define({ authRule: "verified = true && @request.context = 'password'" });
  await stage.update(ann.id, { verified: true }, true);
  const { token } = (await stage.signIn(ann.email)).json;
  assert.equal((await stage.ask('POST', `${path}/auth-refresh`, { token })).status, 403);
  await stage.define({ authRule: 'verified = true' });
  const later: string = (await stage.signIn(ann.email)).json.token;
  assert.equal(await stage.isIn(later), true);
  await stage.update(ann.id, { verified: false }, true);
  await refusals(later);
  assert.equal(
    (await stage.ask('GET', users, { token: later })).json.totalItems,
    1,
    'the token is good for all else',
  );
});

test('another auth rule ends all sessions of the collection, and a definition with the same one none', async (t) => {
  const stage = await Accounts.start(t);
  const ann = await stage.account('ann');
  let { token } = ann;
  await stage.define({ authRule: '', mfa: { duration: 700 }, listRule: null });
  assert.equal((await stage.ask('POST', `${path}/auth-refresh`, { token })).status, 200);
  for (const authRule of ["name != 'bob'", null, '']) {
    await stage.define({ authRule });
    assert.equal((await stage.ask('POST', `${path}/auth-refresh`, { token })).status, 401, String(authRule));
    if (authRule !== null) token = String((await stage.signIn(ann.email)).json.token);
  }
  const { json } = await stage.ask('GET', path, { token: true });
  const body = { collections: [{ ...json, authRule: "name != 'dan'" }] };
  assert.equal((await stage.ask('PUT', '/api/collections/import', { token: true, body })).status, 204);
  assert.equal((await stage.ask('POST', `${path}/auth-refresh`, { token })).status, 401);
});

test('an identity is found with blanks around it, and in another letter case where one account alone has it', async (t) => {
  const stage = await Accounts.start(t);
  const { json } = await stage.ask('GET', path, { token: true });
  await stage.define({
    fields: [...json.fields, { name: 'username', type: 'text' }],
    indexes: [...json.indexes, "CREATE UNIQUE INDEX usernames ON users (username) WHERE username != ''"],
    passwordAuth: { identityFields: ['username', 'email'] },
  });
  const ann = await stage.account('ann', { username: 'Annie', email: 'Ann@Example.com' });
  const lower = await stage.account('bob', { username: 'bob', email: 'bob@example.com' });
  const upper = await stage.account('bobby', { username: 'BOB', email: 'BOB@example.com' });
  const who = async (identity: string): Promise<unknown> => (await stage.signIn(identity)).json.record?.id;
  for (const identity of ['annie', ' ANNIE\n', 'ann@example.com', '\tANN@EXAMPLE.COM ', 'Annie'])
    assert.equal(await who(identity), ann.id, identity);
  assert.equal(await who('bob'), lower.id);
  assert.equal(await who('BOB'), upper.id);
  assert.equal(await who(' bob@example.com'), lower.id);
  assert.equal(await who('Bob'), undefined, 'two have it');
  assert.equal(await who('Bob@example.com'), undefined, 'two have it');
  const [unknown, wrong] = [await stage.signIn('nobody'), await stage.signIn('ANNIE', 'wrong')];
  assert.deepEqual([wrong.status, wrong.text], [unknown.status, unknown.text]);

  await stage.service.withInstance('default', async ({ database, collections }) => {
    const { name } = collections.get('users');
    const { names } = database;
    const column = names.dialect.equalsFolded(names.column('email'), 'ann@example.com');
    const found = sql`SELECT id FROM ${names.collectionTable(name)} WHERE ${column}`;
    // PostgreSQL reads a table of so few rows from its beginning.
    if (!names.isConcurrent) assert.equal((await names.readPlan(database, found)).scanned, 0);
  });
});

test('the index of identities in any letter case follows the definition, and comes back where it is missing', async (t) => {
  const stage = await Accounts.start(t);
  const { json } = await stage.ask('GET', path, { token: true });
  const indexNames = (): Promise<readonly string[]> =>
    stage.service.withInstance('default', async ({ database, collections }) => {
      const rows = await database.tuples(database.names.indexNames);
      const prefix = `$folded_${collections.get('users').id}_`;
      return rows
        .map(([name]) => String(name))
        .filter((name) => name.startsWith(prefix))
        .toSorted();
    });
  const before = await indexNames();
  assert.equal(before.length, 1);
  const fields = [...json.fields, { id: 'username1', name: 'username', type: 'text' }];
  const unique = "CREATE UNIQUE INDEX usernames ON users (username) WHERE username != ''";
  const indexes = [...json.indexes, unique];
  await stage.define({ fields, indexes, passwordAuth: { identityFields: ['username', 'email'] } });
  assert.equal((await indexNames()).length, 2);
  await stage.define({ passwordAuth: { identityFields: ['email'] } });
  assert.deepEqual(await indexNames(), before);
  // As a collection is that an earlier version has made.
  await stage.service.withInstance('default', ({ database }) =>
    database.write((tx) => tx.run(sql`DROP INDEX ${tx.names.collectionTable(before[0] ?? '')}`), {
      isExclusive: true,
    }),
  );
  assert.deepEqual(await indexNames(), []);
  await stage.service.withInstance('default', ({ database, collections }) =>
    ensureFoldedIndexes(database, collections.all()),
  );
  assert.deepEqual(await indexNames(), before);
});

test('A-28 identities are looked for where the definition says, the address first, in the case of their index', async (t) => {
  const stage = await Accounts.start(t);
  const { json } = await stage.ask('GET', path, { token: true });
  const [key, email] = json.indexes;
  await stage.define({
    fields: [...json.fields, { name: 'username', type: 'text' }],
    indexes: [
      key,
      String(email).replace('(`email`)', '(`email` COLLATE NOCASE)'),
      "CREATE UNIQUE INDEX usernames ON users (username) WHERE username != ''",
    ],
    passwordAuth: { identityFields: ['username', 'email'] },
  });
  const ann = await stage.account('ann', { username: 'Annie' });
  // Who takes another's address for a name stands behind its owner.
  const thief = await stage.account('thief', {
    username: ann.email,
    password: 'a thief’s word',
    passwordConfirm: 'a thief’s word',
  });
  const who = async (identity: string, secret = password): Promise<unknown> =>
    (await stage.signIn(identity, secret)).json.record?.id;
  assert.equal(await who('Annie'), ann.id);
  assert.equal(await who('annie'), ann.id, 'in another case it is only one');
  assert.equal(await who('ANN@example.COM'), ann.id);
  assert.equal(await who(ann.email), ann.id);
  assert.equal(await who(ann.email, 'a thief’s word'), undefined);
  assert.equal(await who('thief@example.com', 'a thief’s word'), thief.id);
  const named = (identityField: string): Promise<unknown> =>
    stage
      .ask('POST', `${path}/auth-with-password`, { body: { identity: 'Annie', password, identityField } })
      .then((answer) => answer.status);
  assert.deepEqual([await named('username'), await named('email'), await named('name')], [200, 400, 400]);
  // Without a name one has no identity there.
  assert.equal((await stage.signIn('', password)).status, 400);
  const methods = await stage.ask('GET', `${path}/auth-methods`);
  assert.deepEqual(methods.json, {
    password: { identityFields: ['username', 'email'], enabled: true },
    oauth2: { providers: [], enabled: false },
    mfa: { enabled: false, duration: 0 },
    otp: { enabled: false, duration: 0 },
    authProviders: [],
    usernamePassword: true,
    emailPassword: true,
  });
});

test('where passwords are switched off nobody signs in by one, and no method says so', async (t) => {
  const stage = await Accounts.start(t);
  const ann = await stage.account('ann');
  await stage.define({ passwordAuth: { enabled: false } });
  const answer = await stage.signIn(ann.email);
  assert.deepEqual(
    [answer.status, answer.json.message],
    [403, 'The collection is not configured to allow password authentication.'],
  );
  const { json } = await stage.ask('GET', `${path}/auth-methods`);
  assert.deepEqual([json.password, json.emailPassword], [{ identityFields: [], enabled: false }, false]);
  assert.equal(await stage.isIn(ann.token), true);
  for (const [name, what] of [
    ['nope', 'collection'],
    ['_mfas', 'auth collection'],
    ['__proto__', 'collection'],
  ]) {
    const missing = await stage.ask('GET', `/api/collections/${name}/auth-methods`);
    assert.deepEqual([missing.status, missing.json.message], [404, `Missing or invalid ${what} context.`]);
  }
});

test('A-06 A-08 a token is good for one purpose, one collection and one instance', async (t) => {
  const stage = await Accounts.start(t);
  const ann = await stage.account('ann');
  await stage.ask('POST', '/api/collections', {
    token: true,
    body: { name: 'staff', type: 'auth', createRule: '', listRule: 'id = @request.auth.id' },
  });
  const body = { email: 'ann@example.com', password, passwordConfirm: password };
  await stage.ask('POST', '/api/collections/staff/records', { body });
  const staff = (await stage.signIn(ann.email, password, 'staff')).json;
  const exp = Math.floor(Date.now() / 1000) + 3_600;
  const keyOf = (collection: string, record: string, kind: 'authToken' | 'fileToken'): Promise<string> =>
    stage.service.withInstance('default', async (instance) => {
      const found = await findTokenKey(instance, instance.collections.get(collection), { record, kind });
      assert.ok(found);
      return found;
    });
  const claims = { id: ann.id, collectionId: '_pb_users_auth_', type: 'auth', refreshable: true, exp };
  const [auth, file] = [await keyOf('users', ann.id, 'authToken'), await keyOf('users', ann.id, 'fileToken')];
  assert.notEqual(auth, file);
  assert.equal(await stage.isIn(signToken(claims, auth)), true);
  for (const token of [
    signToken(claims, file),
    signToken({ ...claims, type: 'file' }, file),
    signToken({ ...claims, type: 'file' }, auth),
    signToken({ ...claims, collectionId: 'users' }, auth),
    signToken({ ...claims, collectionId: 'pbc_3142635823' }, auth),
    signToken({ ...claims, collectionId: staff.record.collectionId }, auth),
    signToken(claims, await keyOf('staff', staff.record.id, 'authToken')),
  ]) {
    assert.equal(await stage.isIn(token), false);
    assert.equal((await stage.ask('GET', '/api/collections', { token })).status, 401);
  }
  const other = await stage.ask('POST', `${path}/auth-refresh`, { token: staff.token });
  assert.deepEqual(
    [other.status, other.json.message],
    [403, 'The request requires auth record from users collection.'],
  );
  assert.equal((await stage.ask('GET', users, { token: staff.token })).json.totalItems, 0);
  await stage.service.app.data.directory.create('other', null);
  assert.equal((await stage.ask('POST', `/i/other${path}/auth-refresh`, { token: ann.token })).status, 401);
});

test('a token lasts as long as its collection says, and no longer than the secret that it was signed with', async (t) => {
  const clock = new MovableClock();
  const stage = await Accounts.start(t, { parts: { clock } });
  await stage.define({ authToken: { duration: 60 } });
  const ann = await stage.account('ann');
  clock.move(59_000);
  const { token } = (await stage.ask('POST', `${path}/auth-refresh`, { token: ann.token })).json;
  clock.move(1_000);
  assert.deepEqual([await stage.isIn(ann.token), await stage.isIn(token)], [false, true]);
  await stage.define({ authToken: { secret: '' } });
  assert.equal(await stage.isIn(token), false);
  const fresh: string = (await stage.signIn(ann.email)).json.token;
  await stage.define({ fileToken: { secret: '' } });
  assert.equal(await stage.isIn(fresh), true);
});

test('a superuser acts for an account with a token that ends when it should and is not renewed', async (t) => {
  const clock = new MovableClock();
  const stage = await Accounts.start(t, { parts: { clock } });
  const ann = await stage.account('ann');
  const at = `${path}/impersonate/${ann.id}`;
  const { status, json } = await stage.ask('POST', at, { token: true, body: { duration: 60 } });
  assert.deepEqual([status, json.record.id, json.record.email], [200, ann.id, ann.email]);
  const renewed = await stage.ask('POST', `${path}/auth-refresh`, { token: json.token });
  assert.equal(renewed.json.token, json.token);
  assert.equal((await stage.ask('GET', users, { token: json.token })).json.totalItems, 1);
  const plain = (await stage.ask('POST', at, { token: true })).json;
  clock.move(60_000);
  assert.deepEqual([await stage.isIn(json.token), await stage.isIn(plain.token)], [false, true]);
  for (const duration of [-1, 1.5, '60', 94_670_857, null]) {
    const answer = await stage.ask('POST', at, { token: true, body: { duration } });
    if (duration === null) assert.equal(answer.status, 200);
    else assert.deepEqual([answer.status, Object.keys(codes(answer))], [400, ['duration']]);
  }
  assert.equal((await stage.ask('POST', `${path}/impersonate/nope`, { token: true })).status, 404);
  assert.equal((await stage.ask('POST', at, { token: ann.token })).status, 403);
  assert.equal((await stage.ask('POST', at)).status, 401);
});

test('a sign-in answers what `expand` and `fields` ask for, as the account itself sees it', async (t) => {
  const stage = await Accounts.start(t);
  const { json: teams } = await stage.ask('POST', '/api/collections', {
    token: true,
    body: { name: 'teams', viewRule: "@request.auth.id != ''", fields: [{ name: 'title', type: 'text' }] },
  });
  const { fields } = (await stage.ask('GET', path, { token: true })).json;
  await stage.define({ fields: [...fields, { name: 'team', type: 'relation', collectionId: teams.id }] });
  const team = await stage.ask('POST', '/api/collections/teams/records', {
    token: true,
    body: { title: 'red' },
  });
  const ann = await stage.account('ann', { team: team.json.id });
  const body = { identity: ann.email, password };
  const ask = (query: string): Promise<Awaited<ReturnType<Accounts['ask']>>> =>
    stage.ask('POST', `${path}/auth-with-password?${query}`, { body });
  const expanded = await ask('expand=team');
  assert.equal(expanded.json.record.expand.team.title, 'red');
  assert.equal(expanded.headers.get('cache-control'), 'no-store');
  assert.deepEqual(Object.keys((await ask('fields=record.email')).json), ['record']);
  assert.deepEqual((await ask('fields=record.email')).json.record, { email: ann.email });
});
