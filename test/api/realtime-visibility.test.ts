// Both engines: rules compile to SQL of each.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { AppError } from '../../src/base/errors.ts';
import { Accounts, type Account, password, users } from '../support/accounts.ts';
import { EventStream } from '../support/event-stream.ts';
import { faultyDatabases } from '../support/faulty-databases.ts';
import { makeKey } from '../support/make-key.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { posts, RealtimeStage, withOptions } from '../support/realtime-stage.ts';
import type { TestServiceOptions } from '../support/service.ts';

interface Stage {
  readonly stage: RealtimeStage;
  readonly accounts: Accounts;
  readonly ann: Account;
  readonly bob: Account;
  readonly subscribed: (
    token: true | string | undefined,
    ...topics: readonly string[]
  ) => Promise<EventStream>;
  /** Makes a post of an owner. */
  readonly post: (title: string, owner?: Account) => Promise<string>;
  /** What a connection was told, once it was told of all that has happened up to now. */
  readonly toldTo: (stream: EventStream) => Promise<readonly string[]>;
}

const ownerOnly = { listRule: 'owner = @request.auth.id', viewRule: 'owner = @request.auth.id' };

async function open(
  t: TestContext,
  definition: object = ownerOnly,
  options: TestServiceOptions = {},
): Promise<Stage> {
  const stage = await RealtimeStage.open(t, {}, options);
  const accounts = new Accounts(stage.service);
  const { id: collectionId } = await stage.ok('GET', '/api/collections/users');
  const { fields } = await stage.ok('GET', '/api/collections/posts');
  const owner = { name: 'owner', type: 'relation', collectionId };
  await stage.ok('PATCH', '/api/collections/posts', { fields: [...fields, owner], ...definition });
  // Everybody is told of it: it says that everything before it was told.
  await stage.ok('POST', '/api/collections', {
    name: 'marks',
    listRule: '',
    fields: [{ name: 'title', type: 'text' }],
  });
  await accounts.define({ listRule: '', viewRule: '', updateRule: 'id = @request.auth.id' });
  const [ann, bob] = [await accounts.account('ann'), await accounts.account('bob')];
  let marks = 0;
  return {
    stage,
    accounts,
    ann,
    bob,
    subscribed: async (token, ...topics) => {
      const stream = await stage.connect();
      const answer = await stage.set(stream.clientId, [...topics, 'marks/*'], token);
      assert.equal(answer.status, 204, answer.text);
      return stream;
    },
    post: (title, its) => stage.create(title, { ...(its && { owner: its.id }) }),
    toldTo: async (stream) => {
      const mark = `mark ${(marks += 1)}`;
      await stage.ok('POST', '/api/collections/marks/records', { title: mark });
      await stream.receivedWhere(({ data }) => data.record.title === mark);
      return stream.told.filter((one) => !one.startsWith('create mark'));
    },
  };
}

describe('what a client is told', () => {
  test('is what its caller may see, by the list rule for all records and by the view rule for one', async (t) => {
    const { stage, ann, bob, subscribed, post, toldTo } = await open(t, {
      listRule: 'owner = @request.auth.id',
      viewRule: 'owner != @request.auth.id',
    });
    const id = await post('of ann', ann);
    const streams = {
      guest: await subscribed(undefined, 'posts/*'),
      ann: await subscribed(ann.token, 'posts/*'),
      bob: await subscribed(bob.token, 'posts/*'),
      annOne: await subscribed(ann.token, `posts/${id}`),
      bobOne: await subscribed(bob.token, `posts/${id}`),
      superuser: await subscribed(true, 'posts/*'),
    };
    await stage.ok('PATCH', `${posts}/${id}`, { title: 'by ann' });
    await post('of bob', bob);
    await stage.ok('DELETE', `${posts}/${id}`);
    const told = await Promise.all(
      Object.entries(streams).map(async ([name, stream]) => [name, await toldTo(stream)] as const),
    );
    assert.deepEqual(Object.fromEntries(told), {
      guest: [],
      ann: ['update by ann', 'delete by ann'],
      bob: ['create of bob'],
      annOne: [],
      bobOne: ['update by ann', 'delete by ann'],
      superuser: ['update by ann', 'create of bob', 'delete by ann'],
    });
  });

  test('is what its own filter admits, of many that are asked together, and the fault of one decides nothing for others', async (t) => {
    const { databases, wrapDatabase } = faultyDatabases();
    const { stage, subscribed, toldTo } = await open(t, { listRule: '' }, { parts: { wrapDatabase } });
    // More than are asked for in one statement.
    const titles = Array.from({ length: 70 }, (_, index) => `title ${index}`);
    const filters = titles.map((title) => ({ query: { filter: `title = "${title}"` } }));
    const streams = await Promise.all(
      filters.map((options) => subscribed(undefined, withOptions('posts/*', options))),
    );
    await stage.create('title 1');
    await stage.create('title 69');
    await Promise.all(streams.map(toldTo));
    for (const database of databases)
      database.searchFault = ({ values }) =>
        values.includes('title 2') ? new AppError('bad_request', 'It cannot be compared.') : undefined;
    await stage.create('title 3');
    await stage.create('title 68');
    const told = await Promise.all(streams.map(toldTo));
    const expected = titles.map((title) => (/ (1|3|68|69)$/.test(title) ? [`create ${title}`] : []));
    assert.deepEqual(told, expected);
  });

  test('is nothing of a record that it may not see any more, not even that it was deleted', async (t) => {
    const { stage, ann, bob, subscribed, post, toldTo } = await open(t);
    const stream = await subscribed(ann.token, 'posts/*');
    const id = await post('of ann', ann);
    await stage.ok('PATCH', `${posts}/${id}`, { owner: bob.id, title: 'of bob' });
    await stage.ok('DELETE', `${posts}/${id}`);
    assert.deepEqual(await toldTo(stream), ['create of ann']);
  });

  test('R-08: has no hidden fields but for superusers, whose rules may ask about them to the last', async (t) => {
    const { stage, ann, subscribed, toldTo } = await open(t, { listRule: 'secret = "open"' });
    const stream = await subscribed(ann.token, 'posts/*');
    const superuser = await subscribed(true, 'posts/*');
    const id = await stage.create('a', { secret: 'open' });
    const closed = await stage.create('b', { secret: 'closed' });
    await stage.ok('DELETE', `${posts}/${id}`);
    await stage.ok('DELETE', `${posts}/${closed}`);
    assert.deepEqual(await toldTo(stream), ['create a', 'delete a']);
    assert.equal(stream.text.includes('secret'), false);
    assert.equal((await toldTo(superuser)).length, 4);
    const { data } = superuser.messages.find((one) => one.data.action === 'delete') ?? { data: {} };
    assert.equal(data.record.secret, 'open');
  });

  test('shows the address of an account to itself and to superusers, or to all if it says so', async (t) => {
    const { accounts, ann, bob, subscribed, toldTo } = await open(t);
    const streams = [ann.token, bob.token, undefined, true] as const;
    const opened = await Promise.all(streams.map((token) => subscribed(token, 'users/*')));
    await accounts.update(ann.id, { name: 'first' }, true);
    await accounts.update(ann.id, { emailVisibility: true }, true);
    for (const stream of opened) await toldTo(stream);
    const shown = opened.map(({ messages }) =>
      messages.filter(({ event }) => event === 'users/*').map(({ data }) => data.record.email ?? 'hidden'),
    );
    const both = [ann.email, ann.email];
    assert.deepEqual(shown, [both, ['hidden', ann.email], ['hidden', ann.email], both]);
    for (const { text } of opened) assert.equal(/tokenKey|"password/.test(text), false);
  });

  test('R-06: is judged by the rule of the moment, which knows the options of the subscription', async (t) => {
    const { stage, subscribed, post, toldTo } = await open(t, {
      listRule:
        '@request.context = "realtime" && @request.headers.x_token = "t" && @request.query.word = title',
    });
    const options = { query: { word: 'yes' }, headers: { 'X-Token': 't' } };
    const stream = await subscribed(
      undefined,
      withOptions('posts/*', options),
      withOptions('posts/*', { query: { word: 'yes' } }),
    );
    await post('no');
    await post('yes');
    assert.deepEqual(await toldTo(stream), ['create yes']);
    await stage.ok('PATCH', '/api/collections/posts', { listRule: null });
    await post('yes');
    assert.deepEqual(await toldTo(stream), ['create yes']);
    await stage.ok('PATCH', '/api/collections/posts', { listRule: '' });
    await post('anything');
    assert.deepEqual((await toldTo(stream)).slice(1), ['create anything', 'create anything']);
  });

  test('follows a renamed collection by its new name, and a field that is added or renamed meanwhile', async (t) => {
    const { stage, ann, subscribed, post, toldTo } = await open(t);
    const stream = await subscribed(ann.token, 'posts/*', 'articles/*');
    await post('before', ann);
    await stage.ok('PATCH', '/api/collections/posts', { name: 'articles' });
    await stage.ok('POST', '/api/collections/articles/records', { title: 'after', owner: ann.id });
    await toldTo(stream);
    const { fields } = await stage.ok('GET', '/api/collections/articles');
    // As the service answers them.
    const renamed = (fields as readonly { name: string }[]).map((field) =>
      field.name === 'title' ? { ...field, name: 'heading' } : field,
    );
    await stage.ok('PATCH', '/api/collections/articles', {
      fields: [...renamed, { name: 'more', type: 'number' }],
    });
    await stage.ok('POST', '/api/collections/articles/records', { heading: 'last', owner: ann.id });
    await toldTo(stream);
    const told = stream.messages.filter(({ event }) => event !== 'marks/*');
    assert.deepEqual(
      told.map(({ event, data }) => [event, data.record.title ?? data.record.heading, data.record.more]),
      [
        ['posts/*', 'before', undefined],
        ['articles/*', 'after', undefined],
        ['articles/*', 'last', 0],
      ],
    );
  });
});

describe('a client loses its caller', () => {
  const cases: Readonly<Record<string, (stage: Stage) => Promise<unknown>>> = {
    'when the password is changed': ({ accounts, ann }) =>
      accounts.update(ann.id, { password: 'another one', passwordConfirm: 'another one' }, true),
    'when the address is changed': ({ accounts, ann }) =>
      accounts.update(ann.id, { email: 'new@example.com' }, true),
    'when the account is deleted': ({ stage, ann }) => stage.ok('DELETE', `${users}/${ann.id}`),
    'when the secret of its collection is changed': ({ accounts }) =>
      accounts.define({ authToken: { duration: 1_000, secret: 's'.repeat(40) } }),
  };
  for (const [when, change] of Object.entries(cases))
    test(`${when}, and within a second is told what guests are`, async (t) => {
      const all = await open(t, { listRule: '@request.auth.id != "" || title = "open"' });
      const { stage, ann, bob, subscribed, post, toldTo } = all;
      const [anns, bobs] = [await subscribed(ann.token, 'posts/*'), await subscribed(bob.token, 'posts/*')];
      await post('before');
      assert.deepEqual(await toldTo(anns), ['create before']);
      const changedMs = performance.now();
      await change(all);
      // The same on a slow machine: within a second something may still be told, after it nothing.
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, changedMs + 1_000 - performance.now())));
      await post('after');
      await post('open');
      assert.deepEqual(await toldTo(anns), ['create before', 'create open']);
      if (!when.includes('secret'))
        assert.deepEqual(await toldTo(bobs), ['create before', 'create after', 'create open']);
      // Who it was may be it again.
      const { json } = await stage.service.request('/api/collections/users/auth-with-password', {
        method: 'POST',
        body: { identity: bob.email, password },
      });
      assert.equal((await stage.set(anns.clientId, ['posts/*'], json.token)).status, 204);
    });

  test('when its API key is revoked or has expired, or superusers may no longer come from its address', async (t) => {
    const clock = new MovableClock();
    const flags = { 'trusted-proxies': '127.0.0.1/32' };
    const { stage, subscribed, post, toldTo } = await open(
      t,
      { listRule: null },
      { parts: { clock }, flags },
    );
    const { service } = stage;
    const expires = new Date(clock.now() + 3_600_000).toISOString().replace('T', ' ');
    const revoked = await makeKey(service, ['records:read']);
    const expiring = await makeKey(service, ['records:read'], { expires });
    const headers = { 'x-forwarded-for': '192.0.2.1' };
    const elsewhere = await EventStream.open(t, service.url, headers);
    const body = { clientId: elsewhere.clientId, subscriptions: ['posts/*', 'marks/*'] };
    const answer = await service.request('/api/realtime', { method: 'POST', token: true, headers, body });
    assert.equal(answer.status, 204);
    const streams = {
      revoked: await subscribed(revoked.key, 'posts/*'),
      expired: await subscribed(expiring.key, 'posts/*'),
      elsewhere,
      here: await subscribed(true, 'posts/*'),
    };
    await post('before');
    for (const stream of Object.values(streams)) assert.deepEqual(await toldTo(stream), ['create before']);
    await stage.ok('DELETE', `/api/keys/${revoked.id}`);
    await stage.ok('PATCH', '/api/settings', { superuserIPs: ['127.0.0.1'] });
    clock.move(3_600_001);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await post('after');
    for (const [name, stream] of Object.entries(streams)) {
      const expected = name === 'here' ? ['create before', 'create after'] : ['create before'];
      assert.deepEqual(await toldTo(stream), expected, name);
    }
  });
});

test('R-16: a client that was somebody becomes nobody else, and a guest may become somebody', async (t) => {
  const { stage, ann, bob, subscribed, post, toldTo } = await open(t);
  const stream = await subscribed(undefined, 'posts/*');
  await post('unheard', ann);
  assert.deepEqual(await toldTo(stream), []);
  assert.equal((await stage.set(stream.clientId, ['posts/*', 'marks/*'], ann.token)).status, 204);
  await post('heard', ann);
  assert.deepEqual(await toldTo(stream), ['create heard']);
  for (const token of [bob.token, undefined, true] as const) {
    const answer = await stage.set(stream.clientId, ['posts/*', 'marks/*'], token);
    assert.equal(answer.status, 403);
    assert.equal(answer.json.message, "The current and the previous request authorization don't match.");
  }
  await post('still heard', ann);
  assert.deepEqual(await toldTo(stream), ['create heard', 'create still heard']);
});

test('R-10: a client id is of use only from the address of its connection', async (t) => {
  const { stage } = await open(t, ownerOnly, { flags: { 'trusted-proxies': '127.0.0.1/32' } });
  const { url } = stage.service;
  const stream = await EventStream.open(t, url, { 'x-forwarded-for': '192.0.2.1' });
  const from = async (address: string): Promise<string> => {
    const answer = await stage.service.request('/api/realtime', {
      method: 'POST',
      body: { clientId: stream.clientId, subscriptions: ['posts/*'] },
      headers: { 'x-forwarded-for': address },
    });
    return `${answer.status} ${answer.json?.message ?? ''}`;
  };
  assert.equal(await from('192.0.2.2'), '400 Invalid realtime client.');
  assert.equal(await from('192.0.2.1'), '204 ');
});
