// Both engines: filters compile to SQL of each.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { Accounts, users } from '../support/accounts.ts';
import { eventsOf } from '../support/events-of.ts';

const setUp = (t: TestContext): Promise<Accounts> => Accounts.start(t);

test('who the manage rule is true of sees the address, and changes it, verifies and sets the password', async (t) => {
  const stage = await setUp(t);
  await stage.define({
    listRule: '',
    viewRule: '',
    updateRule: "@request.auth.id != ''",
    manageRule: "@request.auth.name = 'boss' && name != 'untouchable'",
  });
  const boss = await stage.account('boss');
  const ann = await stage.account('ann');
  const other = await stage.account('untouchable');
  const seen = async (token?: string): Promise<readonly unknown[]> => {
    const options = token === undefined ? {} : { token };
    const { items } = (await stage.ask('GET', `${users}?sort=created`, options)).json;
    const list: readonly Readonly<Record<string, unknown>>[] = items;
    return list.map(({ email }) => email);
  };
  assert.deepEqual(await seen(), [undefined, undefined, undefined]);
  assert.deepEqual(await seen(ann.token), [undefined, ann.email, undefined]);
  assert.deepEqual(await seen(boss.token), [boss.email, ann.email, undefined]);
  assert.equal((await stage.ask('GET', `${users}/${ann.id}`, { token: boss.token })).json.email, ann.email);
  const body = {
    verified: true,
    email: 'x@example.com',
    password: 'another horse',
    passwordConfirm: 'another horse',
  };
  assert.equal((await stage.update(other.id, body, boss.token)).status, 400);
  const changed = await stage.update(ann.id, body, boss.token);
  assert.deepEqual([changed.status, changed.json.verified, changed.json.email], [200, true, 'x@example.com']);
  assert.equal((await stage.signIn('x@example.com', 'another horse')).status, 200);
});

test('a hidden address is in no answer to others, no expand, no filter and no order', async (t) => {
  const stage = await setUp(t);
  await stage.define({ listRule: '', viewRule: '' });
  const ann = await stage.account('ann');
  const bob = await stage.account('bob', { emailVisibility: true });
  const fields = [{ name: 'author', type: 'relation', collectionId: '_pb_users_auth_' }];
  await stage.ask('POST', '/api/collections', {
    token: true,
    body: { name: 'posts', listRule: '', createRule: '', fields },
  });
  for (const { id } of [ann, bob])
    await stage.ask('POST', '/api/collections/posts/records', { body: { author: id } });
  const expanded = async (token?: string): Promise<string> =>
    (
      await stage.ask(
        'GET',
        '/api/collections/posts/records?expand=author',
        token === undefined ? {} : { token },
      )
    ).text;
  assert.deepEqual(
    [(await expanded()).includes(ann.email), (await expanded()).includes(bob.email)],
    [false, true],
  );
  assert.equal((await expanded(bob.token)).includes(ann.email), false);
  assert.equal((await expanded(ann.token)).includes(ann.email), true);
  const found = await stage.ask('GET', `${users}?filter=${encodeURIComponent("email ~ 'example'")}`, {
    token: bob.token,
  });
  assert.deepEqual([found.json.totalItems, found.json.items[0].id], [1, bob.id]);
  await stage.update(ann.id, { emailVisibility: true }, ann.token);
  assert.equal((await stage.ask('GET', `${users}/${ann.id}`)).json.email, ann.email);
});

test('an event of an account holds its address in schema order, shown to others or not, and nothing that is hidden', async (t) => {
  const stage = await setUp(t);
  const { fields } = (await stage.ask('GET', '/api/collections/users', { token: true })).json;
  await stage.define({ fields: [...fields, { name: 'note', type: 'text', hidden: true }] });
  const ann = await stage.account('ann');
  const bob = await stage.account('bob', { emailVisibility: true });
  await stage.update(ann.id, { name: 'Ann' }, ann.token);
  for (const { id, email } of [ann, bob]) {
    const events = await eventsOf(stage.service, id);
    assert.equal(events.length, id === ann.id ? 2 : 1);
    for (const { data } of events) {
      assert.equal(data['email'], email);
      assert.deepEqual(Object.keys(data).slice(0, 4), ['id', 'email', 'emailVisibility', 'verified']);
      for (const secret of ['password', 'tokenKey', 'note']) assert.ok(!(secret in data), secret);
    }
  }
});

test('canary: no hash and no token key is in any answer or event, whoever asks and however', async (t) => {
  const stage = await setUp(t);
  await stage.define({ listRule: '', viewRule: '', manageRule: "@request.auth.id != ''" });
  const ann = await stage.account('ann');
  await stage.account('bob');
  const secrets = await stage.service.withInstance('default', ({ database }) =>
    database.all(
      sql`SELECT value FROM ${database.names.table('$secret')} WHERE ${database.names.instance.condition} AND record <> ''`,
    ),
  );
  const canaries = secrets.map(({ value }) => String(value));
  assert.equal(canaries.length, 6, 'a hash and a key for each of three');
  const texts: string[] = [];
  for (const token of [undefined, ann.token, true as const]) {
    const options = token === undefined ? {} : { token };
    for (const query of ['', '?fields=*,password,tokenKey', '?expand=password,tokenKey'])
      texts.push((await stage.ask('GET', users + query, options)).text);
    for (const filter of ["password ~ '$'", "tokenKey > 'a'", 'password = null']) {
      const answer = await stage.ask('GET', `${users}?filter=${encodeURIComponent(filter)}`, options);
      assert.equal(answer.status, 400, filter);
      texts.push(answer.text);
    }
    for (const sort of ['password', '-tokenKey'])
      assert.equal((await stage.ask('GET', `${users}?sort=${sort}`, options)).status, 400);
  }
  texts.push((await stage.update(ann.id, { name: 'x' }, true)).text, (await stage.signIn(ann.email)).text);
  texts.push(JSON.stringify(await eventsOf(stage.service, ann.id)));
  for (const text of texts) for (const canary of canaries) assert.equal(text.includes(canary), false, text);
  for (const rule of ["password != ''", "@collection.users.tokenKey != ''"]) {
    const body = { listRule: rule };
    const answer = await stage.ask('PATCH', '/api/collections/users', { token: true, body });
    assert.equal(answer.json.data.listRule.code, 'validation_invalid_rule', rule);
  }
  // Of the request an unknown member is nothing, and no error.
  await stage.define({ listRule: "@request.auth.tokenKey != '' || @request.auth.password != ''" });
  assert.equal((await stage.ask('GET', users, { token: ann.token })).json.totalItems, 0);
});
