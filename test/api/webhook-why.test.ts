// Both engines: comparisons are asked in SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { reasons } from '../../src/deliveries/why/explanation.ts';
import { allDecided } from '../support/all-decided.ts';
import { eventually } from '../support/eventually.ts';
import { makeKey } from '../support/make-key.ts';
import { type Json, listOf } from '../support/webhook-service.ts';
import { disable, falseIn, startWhyStage, type WhyStage } from '../support/why-stage.ts';

const endpoints = '/api/webhooks/endpoints';
const posts = '/api/collections/posts/records';
const users = '/api/collections/users/records';

/** Makes an event and an endpoint, and returns the line about them. */
type Story = (stage: WhyStage) => Promise<Json>;

async function addAccount(stage: WhyStage, name: string): Promise<string> {
  await stage.call('PATCH', '/api/collections/users', { body: { webhooks: { enabled: true } } });
  await stage.call('PATCH', '/api/settings', { body: { webhooks: { verifyAccountEndpoints: false } } });
  const password = 'correct horse';
  const body = { email: `${name}@example.com`, password, passwordConfirm: password };
  return (await stage.call('POST', users, { body })).id;
}

const mirror = { transitions: true, filter: 'rank > 5', collections: ['posts'] };

/** Returns the id of the last event that is a change. */
async function lastChange(stage: WhyStage): Promise<string> {
  const { items } = await stage.call('GET', "/api/webhooks/events?sort=-created&filter=kind='record.update'");
  return items[0].id;
}

/** One for each reason but `undecided`, which lasts a moment (explanation.test.ts), and `unknown` (below). */
const stories: Readonly<Record<Exclude<(typeof reasons)[number], 'undecided' | 'unknown'>, Story>> = {
  sent: async (stage) => {
    const { id } = await stage.addEndpoint({ filter: 'title = "a"' });
    await stage.addPost('a');
    return stage.whyOf(id);
  },
  paused: async (stage) => {
    const { id } = await stage.addEndpoint({ status: 'paused' });
    await stage.addPost();
    return stage.whyOf(id);
  },
  disabled: async (stage) => {
    const { id } = await stage.addEndpoint({ status: 'active', events: ['record.create'] });
    await disable(stage, id);
    await stage.addPost();
    return stage.whyOf(id);
  },
  unverified: async (stage) => {
    const owner = `_pb_users_auth_/${await addAccount(stage, 'mia')}`;
    await stage.call('PATCH', '/api/settings', { body: { webhooks: { verifyAccountEndpoints: true } } });
    await stage.call('PATCH', '/api/collections/posts', { body: { viewRule: '' } });
    stage.receiver.mode = { kind: 'status', status: 404 };
    const { id } = await stage.addEndpoint({ owner });
    await stage.addPost();
    await allDecided(stage);
    return stage.whyOf(id);
  },
  quota: async (stage) => {
    const { directory } = stage.app.data;
    const id = directory.findBySlug('default')?.id ?? '';
    await directory.setQuotas(id, { deliveriesPerDay: 1 });
    const first = await stage.addEndpoint({ filter: 'title = "a"' });
    await stage.addPost('a');
    await eventually(
      'one is delivered',
      async () => (await stage.deliveries('status="delivered"')).length === 1,
    );
    assert.equal((await stage.whyOf(first.id)).reason, 'sent');
    await stage.addPost('a');
    const line = await stage.whyOf(first.id);
    await directory.setQuotas(id, { deliveriesPerDay: 3 });
    assert.equal((await stage.whyOf(first.id)).reason, 'sent');
    return line;
  },
  transition: async (stage) => {
    const { id } = await stage.addEndpoint({ ...mirror, status: 'paused' });
    const active = await stage.addEndpoint(mirror);
    const post = await stage.addPost();
    assert.equal((await stage.whyOf(id)).reason, 'filter');
    const seen: string[] = [];
    for (const rank of [6, 7, 5, 4]) {
      await stage.call('PATCH', `${posts}/${post.id}`, { body: { rank } });
      const event = await lastChange(stage);
      const lines = await stage.why({ event });
      for (const { endpoint, reason, delivery } of lines) {
        if (endpoint !== active.id || reason !== 'transition') continue;
        const { kind } = await stage.call('GET', `/api/webhooks/deliveries/${delivery}`);
        seen.push(kind);
      }
      if (rank === 7)
        assert.deepEqual(
          lines.map(({ reason }) => reason),
          ['paused', 'sent'],
        );
      if (rank === 4)
        assert.deepEqual(
          lines.map(({ reason }) => reason),
          ['filter', 'filter'],
        );
    }
    assert.deepEqual(seen, ['enter', 'leave']);
    await stage.call('PATCH', `${posts}/${post.id}`, { body: { rank: 8 } });
    const [line] = await stage.why({ event: await lastChange(stage), query: `?endpoint=${id}` });
    return line;
  },
  'made-later': async (stage) => {
    await stage.addPost();
    return stage.whyOf((await stage.addEndpoint()).id);
  },
  deleted: async (stage) => {
    const { id } = await stage.addEndpoint({ filter: 'title = "none"' });
    await stage.addEndpoint();
    await stage.addPost();
    await stage.call('DELETE', `${endpoints}/${id}`, { status: 204 });
    assert.deepEqual((await stage.why()).length, 1);
    return stage.whyOf(id);
  },
  'other-endpoint': async (stage) => {
    const { id } = await stage.addEndpoint();
    const other = await stage.addEndpoint();
    await stage.call('POST', `${endpoints}/${other.id}/test`, { body: {} });
    assert.equal((await stage.whyOf(other.id)).reason, 'sent');
    return stage.whyOf(id);
  },
  'other-events': async (stage) => {
    const { id } = await stage.addEndpoint({ events: ['record.delete', 'record.update'] });
    await stage.addPost();
    return stage.whyOf(id);
  },
  'other-collections': async (stage) => {
    const { id } = await stage.addEndpoint({ collections: ['users'] });
    await stage.addPost();
    return stage.whyOf(id);
  },
  'about-itself': async (stage) => {
    const events = ['record.create', 'endpoint.disabled'];
    const { id } = await stage.addEndpoint({ events });
    const { id: other } = await stage.addEndpoint({ events, filter: 'title = "none"' });
    await disable(stage, id);
    assert.equal((await stage.whyOf(other)).reason, 'sent');
    return stage.whyOf(id);
  },
  filter: async (stage) => {
    const { id } = await stage.addEndpoint({ filter: 'rank > 5' });
    await stage.addPost();
    const line = await stage.whyOf(id);
    assert.deepEqual(falseIn(line), [['rank > 5', [0], [5]]]);
    return line;
  },
  'filter-unfit': async (stage) => {
    const { id } = await stage.addEndpoint({ filter: 'rank = 0', collections: [] });
    await addAccount(stage, 'mia');
    return stage.whyOf(id);
  },
  'owner-deleted': async (stage) => {
    const account = await addAccount(stage, 'mia');
    const { id } = await stage.addEndpoint({ owner: `_pb_users_auth_/${account}` });
    await stage.call('DELETE', `${users}/${account}`, { status: 204 });
    const status = async (): Promise<unknown> => (await stage.call('GET', `${endpoints}/${id}`)).status;
    await eventually('it is paused', async () => (await status()) === 'paused');
    await stage.addPost();
    await allDecided(stage);
    return stage.whyOf(id);
  },
  owner: async (stage) => {
    const account = await addAccount(stage, 'mia');
    await stage.call('PATCH', '/api/collections/posts', {
      body: { viewRule: 'title = @request.auth.id' },
    });
    const owner = `_pb_users_auth_/${account}`;
    const { id } = await stage.addEndpoint({ owner });
    await stage.addPost(account);
    await allDecided(stage);
    assert.equal((await stage.whyOf(id)).reason, 'sent');
    await stage.addPost('none of hers');
    await allDecided(stage);
    const line = await stage.whyOf(id);
    assert.equal(line.isOfNow, true);
    return line;
  },
  'not-held': async (stage) => {
    const { id } = await stage.addEndpoint(mirror);
    const post = await stage.addPost();
    await stage.call('DELETE', `${posts}/${post.id}`, { status: 204 });
    return stage.whyOf(id);
  },
  changed: async (stage) => {
    const { id } = await stage.addEndpoint({ filter: 'rank > 5' });
    await stage.addPost();
    await stage.call('PATCH', `${endpoints}/${id}`, { body: { filter: 'rank < 5' } });
    const line = await stage.whyOf(id);
    assert.deepEqual(line.changed, ['filter']);
    return line;
  },
  expunged: async (stage) => {
    const { id } = await stage.addEndpoint({ filter: 'rank > 5' });
    const other = await stage.addEndpoint({ collections: ['users'] });
    await stage.addPost();
    await stage.call('DELETE', `/api/webhooks/events/${await stage.lastEvent()}/body`, { status: 204 });
    assert.equal((await stage.whyOf(other.id)).reason, 'other-collections');
    return stage.whyOf(id);
  },
  'collection-deleted': async (stage) => {
    const { id } = await stage.addEndpoint({ filter: 'rank > 5 || title = "other"', collections: [] });
    const more = {
      name: 'more',
      type: 'base',
      fields: [
        { name: 'rank', type: 'number' },
        { name: 'title', type: 'text' },
      ],
    };
    await stage.call('POST', '/api/collections', { body: more });
    await stage.call('POST', '/api/collections/more/records', { body: { rank: 1 } });
    await stage.call('DELETE', '/api/collections/more', { status: 204 });
    return stage.whyOf(id);
  },
  'state-trimmed': async (stage) => {
    const { id } = await stage.addEndpoint({ filter: '@old.rank > 5' });
    const post = await stage.addPost();
    const first = await stage.lastEvent();
    await stage.call('PATCH', `${posts}/${post.id}`, { body: { rank: 6 } });
    assert.deepEqual(falseIn(await stage.whyOf(id)), [['@old.rank > 5', [0], [5]]]);
    await stage.call('DELETE', `/api/webhooks/events/${first}/body`, { status: 204 });
    return stage.whyOf(id);
  },
  'related-changed': async (stage) => {
    const authors = await stage.call('POST', '/api/collections', {
      body: { name: 'authors', type: 'base', fields: [{ name: 'name', type: 'text' }] },
    });
    const author = await stage.call('POST', '/api/collections/authors/records', { body: { name: 'Ada' } });
    const fields = [{ name: 'author', type: 'relation', collectionId: authors.id }];
    await stage.call('POST', '/api/collections', { body: { name: 'books', type: 'base', fields } });
    const filter = 'author.name = "Ben"';
    const made = await stage.addEndpoint({ filter, collections: ['books'] });
    await stage.call('POST', '/api/collections/books/records', { body: { author: author.id } });
    const before = await stage.whyOf(made.id);
    assert.deepEqual(falseIn(before), [[filter, ['Ada'], ['Ben']]]);
    assert.deepEqual([before.isOfNow, before.comparisons[0].isOfNow], [true, true]);
    const path = `/api/collections/authors/records/${author.id}`;
    await stage.call('PATCH', path, { body: { name: 'Ben' } });
    const { items } = await stage.call('GET', "/api/webhooks/events?filter=collection='books'");
    const [line] = await stage.why({ event: items[0].id, query: `?endpoint=${made.id}` });
    assert.equal(line.isOfNow, true);
    return line;
  },
};

test('each reason why an endpoint was sent an event or was not is found', async (t) => {
  for (const [reason, tell] of Object.entries(stories)) {
    await t.test(reason, async (sub) => {
      const line = await tell(await startWhyStage(sub));
      assert.equal(line.reason, reason, JSON.stringify(line));
      assert.equal(
        line.isSent,
        ['sent', 'paused', 'disabled', 'unverified', 'quota', 'transition'].includes(reason),
      );
      assert.equal(line.delivery !== '', line.isSent);
      assert.match(line.message, /\.$/);
    });
  }
});

test('superusers and keys that read webhooks are told, and of values what they could read elsewhere', async (t) => {
  const stage = await startWhyStage(t);
  const filter = 'rank > 5 && (note = "secret" || note != "") && @old.note = "other"';
  const { id } = await stage.addEndpoint({ filter });
  await stage.addPost('a');
  const path = `/api/webhooks/events/${await stage.lastEvent()}/why`;
  const asked = async (
    scopes: readonly string[],
    more: Parameters<typeof makeKey>[2] = {},
  ): Promise<Json> => {
    const { key: token } = await makeKey(stage, scopes, more);
    return stage.request(path, { token });
  };
  const linesOf = async (answer: Promise<Json>): Promise<unknown> => falseIn((await answer).json.items[0]);
  const whole = [
    ['rank > 5', [0], [5]],
    ['note = "secret"', [''], ['secret']],
    ['note != ""', [''], ['']],
    ['@old.note = "other"', [''], ['other']],
  ];
  assert.deepEqual(falseIn(await stage.whyOf(id)), whole);
  assert.deepEqual(await linesOf(asked(['webhooks:read', 'records:read'])), whole);
  assert.deepEqual(await linesOf(asked(['webhooks:read'])), [['rank > 5', [0], [5]], ['?']]);
  assert.equal((await asked(['webhooks:read'], { endpoints: [id] })).status, 403);
  assert.equal((await asked(['records:read', 'webhooks:write'])).status, 403);
  assert.equal((await stage.request(path)).status, 401);
  const account = await addAccount(stage, 'mia');
  const signIn = { identity: 'mia@example.com', password: 'correct horse' };
  const { token } = await stage.call('POST', '/api/collections/users/auth-with-password', { body: signIn });
  assert.equal((await stage.request(path, { token })).status, 403);
  await stage.addEndpoint({ owner: `_pb_users_auth_/${account}` });
  assert.equal((await stage.request(path, { token })).status, 403);
});

test('the rule by which an owner may not view a record has its text for who may read definitions', async (t) => {
  const stage = await startWhyStage(t);
  const account = await addAccount(stage, 'mia');
  await stage.call('PATCH', '/api/collections/posts', { body: { viewRule: 'title = "shown"' } });
  const { id } = await stage.addEndpoint({ owner: `_pb_users_auth_/${account}` });
  await stage.addPost('a');
  await allDecided(stage);
  const path = `/api/webhooks/events/${await stage.lastEvent()}/why?endpoint=${id}`;
  const ruleFor = async (
    scopes: readonly string[],
    more: Parameters<typeof makeKey>[2] = {},
  ): Promise<Json> => {
    const { key: token } = await makeKey(stage, scopes, more);
    const { json } = await stage.request(path, { token });
    return json.items[0].rule;
  };
  const shown = { collection: 'posts', name: 'viewRule', text: 'title = "shown"', isHidden: false };
  const hidden = { ...shown, text: '', isHidden: true };
  assert.deepEqual((await stage.whyOf(id)).rule, shown);
  assert.deepEqual(await ruleFor(['webhooks:read', 'collections:read']), shown);
  assert.deepEqual(await ruleFor(['webhooks:read', 'records:read']), hidden);
  await stage.call('PATCH', '/api/collections/posts', { body: { viewRule: null } });
  assert.deepEqual((await stage.whyOf(id)).rule, { ...shown, text: null });
});

test('what is not there is a 404', async (t) => {
  const stage = await startWhyStage(t);
  await stage.addPost();
  const event = await stage.lastEvent();
  for (const path of ['none/why', '0mwyed3u2n7lgzw2kzwc/why', `${event}/why?endpoint=none`])
    await stage.call('GET', `/api/webhooks/events/${path}`, { status: 404 });
  assert.deepEqual(await stage.why(), []);
});

test('an address that its owner hides and what the owner of an endpoint may not list have no values', async (t) => {
  const stage = await startWhyStage(t);
  const mia = await addAccount(stage, 'mia');
  const secret = {
    name: 'secrets',
    type: 'base',
    fields: [{ name: 'name', type: 'text' }],
    listRule: '@request.auth.name = "none"',
  };
  const { id: secrets } = await stage.call('POST', '/api/collections', { body: secret });
  const { id } = await stage.call('POST', '/api/collections/secrets/records', { body: { name: 'Ada' } });
  const { fields } = await stage.call('GET', '/api/collections/users');
  const relation = { name: 'keeps', type: 'relation', collectionId: secrets };
  await stage.call('PATCH', '/api/collections/users', {
    body: { listRule: '', viewRule: '', fields: [...fields, relation] },
  });
  const owner = `_pb_users_auth_/${mia}`;
  const filter = 'email = "none" && keeps.name = "none"';
  const collections = ['users'];
  const own = await stage.addEndpoint({ filter: 'email = "none"', collections });
  const ofAccount = await stage.addEndpoint({ filter, collections, owner });
  const password = 'correct horse';
  const leo = { email: 'leo@example.com', password, passwordConfirm: password, keeps: id };
  await stage.call('POST', users, { body: leo });
  await allDecided(stage);
  const path = `/api/webhooks/events/${await stage.lastEvent()}/why`;
  assert.deepEqual(falseIn(await stage.whyOf(ofAccount.id)), [
    ['email = "none"', [null], ['none']],
    ['keeps.name = "none"', [null], ['none']],
  ]);
  assert.deepEqual(falseIn(await stage.whyOf(own.id)), [['email = "none"', [leo.email], ['none']]]);
  assert.equal((await stage.whyOf(own.id)).isWhole, true);
  const { key: token } = await makeKey(stage, ['webhooks:read']);
  const { json } = await stage.request(path, { token });
  assert.deepEqual(listOf(json.items).map(falseIn), [[['?']], [['?']]]);
});
