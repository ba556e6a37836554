import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { trimLog } from '../../src/webhooks/log/trim-log.ts';
import { type Account, Accounts } from '../support/accounts.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import {
  type Json,
  listOf,
  startWebhookService,
  type WebhookService,
  type WebhookServiceOptions,
} from '../support/webhook-service.ts';

const endpoints = '/api/webhooks/endpoints';
const posts = '/api/collections/posts/records';
/** Enough rows that no machine goes through their pairs in a second. */
const rowsMax = 20_000;
/** Who is called slow may view nothing, but only a look at every pair tells. */
const slow =
  'isPublic = true && (@request.auth.name != "slow" || @collection.words.note ?> @collection.words:other.word)';

interface Stage {
  readonly service: WebhookService;
  readonly accounts: Accounts;
  readonly account: (name: string, more?: object) => Promise<Account>;
  readonly own: (account: Account, settings?: object) => Promise<Json>;
  /** Titles in the order in which they came, by the path of the endpoint. */
  readonly told: (path?: string) => readonly string[];
}

async function open(t: TestContext, options: WebhookServiceOptions = {}): Promise<Stage> {
  const service = await startWebhookService(t, options);
  const accounts = new Accounts(service);
  await accounts.define({ webhooks: { enabled: true }, createRule: '' });
  const rules = { viewRule: 'isPublic = true || title = @request.auth.id', createRule: '' };
  await service.call('PATCH', '/api/collections/posts', { body: rules });
  return {
    service,
    accounts,
    account: (name, more) => accounts.account(name, more),
    own: async ({ token }, settings = {}) => {
      const body = { url: service.receiver.url, collections: ['posts'], ...settings };
      const made = await service.request(endpoints, { method: 'POST', token, body });
      assert.equal(made.status, 201, made.text);
      return made.json;
    },
    told: (path = '/hook') =>
      service.receiver.requests.flatMap((request) =>
        request.path === path ? [String(JSON.parse(request.body.toString()).data.title)] : [],
      ),
  };
}

async function add({ service }: Stage, title: string, more: object = {}): Promise<string> {
  const body = { title, isPublic: true, ...more };
  return (await service.call('POST', posts, { body, status: 201 })).id;
}

/** Gives the posts a slow rule, which goes through a collection with many rows. */
async function makeSlow({ service }: Stage): Promise<void> {
  const text = (name: string): object => ({ name, type: 'text' });
  await service.call('POST', '/api/collections', {
    body: { name: 'words', type: 'base', viewRule: '', listRule: '', fields: [text('note'), text('word')] },
  });
  await service.withInstance('default', async ({ database }) => {
    const table = database.names.collectionTable('words');
    const numbers = sql`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${rowsMax})`;
    await database.write((tx) =>
      tx.run(sql`INSERT INTO ${table} (id, note, word, "$revision")
        ${numbers} SELECT 'word' || n, 'note ' || n, 'word ' || n, 1 FROM n`),
    );
  });
  await service.call('PATCH', '/api/collections/posts', { body: { viewRule: slow } });
}

test('endpoints of accounts take no places of those of superusers, and no account those of all others', async (t) => {
  const stage = await open(t);
  const { service, account, own } = stage;
  const set = (accountEndpointsMax: unknown, status = 200): Promise<Json> =>
    service.call('PATCH', '/api/settings', { body: { webhooks: { accountEndpointsMax } }, status });
  assert.equal((await service.call('GET', '/api/settings')).webhooks.accountEndpointsMax, 200);
  for (const wrong of [-1, 1_001, 1.5, 'many']) await set(wrong, 400);
  await set(6);
  const [ann, bob] = [await account('ann'), await account('bob')];
  const first = await own(ann);
  for (let made = 1; made < 5; made += 1) await own(ann);
  const ask = (token: string): Promise<Json> =>
    service.request(endpoints, { method: 'POST', token, body: { url: service.receiver.url } });
  const refused = await ask(ann.token);
  assert.deepEqual(
    [refused.status, refused.json.message],
    [400, 'Failed to create endpoint. An account may have at most 5 endpoints.'],
  );
  await own(bob);
  const full = await ask(bob.token);
  assert.equal(full.status, 400);
  assert.match(
    full.json.message,
    /Accounts can have at most 6 endpoints together \(webhooks\.accountEndpointsMax\)/,
  );
  // Superusers have theirs, and may not give more away either.
  const { id } = await service.addEndpoint();
  const given = await service.request(`${endpoints}/${id}`, {
    method: 'PATCH',
    token: true,
    body: { owner: `users/${bob.id}` },
  });
  assert.equal(given.status, 400, given.text);
  // What is there already can be changed, also when the maximum is less by now.
  await set(1);
  assert.equal(
    (
      await service.request(`${endpoints}/${first.id}`, {
        method: 'PATCH',
        token: ann.token,
        body: { description: 'mine' },
      })
    ).status,
    200,
  );
});

test('an account is told of each change that it may view, once and in order, from the time when its endpoint is made', async (t) => {
  const stage = await open(t);
  const { account, own, told, service } = stage;
  await add(stage, 'before');
  const ann = await account('ann');
  await own(ann, { order: 'strict' });
  const expected: string[] = [];
  for (let n = 0; n < 60; n += 1) {
    const isPublic = n % 3 !== 0;
    const id = await add(stage, `title ${n}`, { isPublic });
    if (isPublic) expected.push(`title ${n}`);
    if (n % 10 !== 0) continue;
    await service.call('PATCH', `${posts}/${id}`, { body: { title: `open ${n}`, isPublic: true } });
    expected.push(`open ${n}`);
  }
  await service.receiver.waitForRequests(expected.length);
  await own(await account('bob'), { url: service.receiver.urlAt('127.0.0.1', '/late') });
  await add(stage, 'last');
  await eventually('the last one is told', () => told().includes('last') && told('/late').length > 0);
  assert.deepEqual([told(), told('/late')], [[...expected, 'last'], ['last']]);
});

test('a filter of an account that asks what has changed is met by what has changed', async (t) => {
  const stage = await open(t);
  const { account, own, service } = stage;
  await own(await account('ann'), { order: 'strict', filter: 'rank:changed = true' });
  const id = await add(stage, 'a', { rank: 1 });
  await add(stage, 'b', { rank: 0 });
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'c' } });
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'd', rank: 2 } });
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'e', rank: 2 } });
  await service.call('PATCH', `${posts}/${id}`, { body: { title: 'f', rank: 0 } });
  await service.receiver.waitForRequests(3);
  await add(stage, 'last', { rank: 9 });
  await eventually('the last one', () => stage.told().includes('last'));
  assert.deepEqual(stage.told(), ['a', 'd', 'f', 'last']);
});

test('while an account has an endpoint, every event of its collections is in the log, whatever webhooks.events says', async (t) => {
  const stage = await open(t);
  const { account, own, service } = stage;
  await service.call('PATCH', '/api/settings', { body: { webhooks: { events: 'when told' } } });
  const count = async (): Promise<number> => (await service.call('GET', '/api/webhooks/events')).totalItems;
  await add(stage, 'nobody');
  assert.equal(await count(), 0);
  const { id } = await own(await account('ann'));
  await add(stage, 'secret', { isPublic: false });
  await add(stage, 'open');
  await eventually('it is told', () => stage.told().includes('open'));
  assert.equal(await count(), 2);
  await service.call('DELETE', `${endpoints}/${id}`, { status: 204 });
  await add(stage, 'nobody');
  assert.equal(await count(), 2);
});

test('a slow rule of an account refuses no write, holds up no other endpoint, is shown, and loses nothing', async (t) => {
  const clock = new MovableClock();
  const stage = await open(t, { parts: { clock } });
  const { account, own, told, service } = stage;
  await makeSlow(stage);
  const [ann, bob] = [await account('ann', { name: 'slow' }), await account('bob')];
  const behind = await own(ann, {
    url: service.receiver.urlAt('127.0.0.1', '/slow'),
  });
  await own(bob, { order: 'strict' });
  await service.addEndpoint({ url: service.receiver.urlAt('127.0.0.1', '/all'), order: 'strict' });
  const titles = Array.from({ length: 5 }, (_, n) => `title ${n}`);
  for (const title of titles) await add(stage, title);
  await eventually(
    'the others are told',
    () => told().length === titles.length && told('/all').length === titles.length,
  );
  assert.deepEqual([told(), told('/all')], [titles, titles]);
  const lane = await eventually('the cause is shown', async () => {
    const { items } = await service.call('GET', '/api/webhooks/lanes');
    return listOf(items).find(({ id, undecided }) => id === behind.id && undecided !== '');
  });
  assert.match(lane.undecided, /longer than 1000 ms/);
  assert.deepEqual(told('/slow'), []);
  // The log is kept for it.
  await service.withInstance('default', async ({ database, dueClock }) => {
    const tomorrow = clock.now() + 86_400_000;
    const { last } = await trimLog({ database, dueClock }, { before: tomorrow, from: 0 });
    const [first] = await database.tuples(
      sql`SELECT min(position) FROM ${database.names.table('$event')} WHERE ${database.names.scope}`,
    );
    assert.ok(Number(first?.[0]) > last, 'what is decided can go');
    const [left] = await database.tuples(
      sql`SELECT count(*) FROM ${database.names.table('$event')} WHERE ${database.names.scope}`,
    );
    assert.equal(Number(left?.[0]), titles.length);
  });
  // When it is quick again, it catches up.
  assert.equal((await stage.accounts.update(ann.id, { name: 'quick' }, true)).status, 200);
  await eventually('it is told of all', async () => {
    clock.move(60_000);
    await service.signIn();
    service.look();
    return told('/slow').length === titles.length;
  });
  assert.deepEqual(told('/slow').toSorted(), titles);
  const { items } = await service.call('GET', '/api/webhooks/lanes');
  assert.equal(listOf(items).find(({ id }) => id === behind.id)?.undecided, '');
});

test('an endpoint that is given to superusers is told of what was undecided, and one that skips is not', async (t) => {
  const clock = new MovableClock();
  const stage = await open(t, { parts: { clock } });
  const { account, own, told, service } = stage;
  await makeSlow(stage);
  const ann = await account('ann', { name: 'slow' });
  const bob = await account('bob', { name: 'slow' });
  const given = await own(ann);
  const skipping = await own(bob, {
    url: service.receiver.urlAt('127.0.0.1', '/skipped'),
    status: 'paused',
  });
  await add(stage, 'one');
  await eventually('both are behind', async () => {
    const { items } = await service.call('GET', '/api/webhooks/lanes');
    return listOf(items).every(({ undecided }) => undecided !== '');
  });
  await service.call('PATCH', `${endpoints}/${given.id}`, { body: { owner: '' } });
  assert.equal((await stage.accounts.update(bob.id, { name: 'quick' }, true)).status, 200);
  await service.call('POST', `${endpoints}/${skipping.id}/resume`, { body: { backlog: 'skip' } });
  await add(stage, 'two');
  await eventually('all is told', () => told().length === 2 && told('/skipped').length > 0);
  assert.deepEqual([told().toSorted(), told('/skipped')], [['one', 'two'], ['two']]);
});
