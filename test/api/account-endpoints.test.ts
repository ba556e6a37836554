// Both engines: events are decided by rules in SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { readSafeFor } from '../../src/deliveries/decision-cursor.ts';
import { moveCursors } from '../../src/deliveries/log/move-cursors.ts';
import { trimLog } from '../../src/deliveries/log/trim-log.ts';
import { add, endpoints, makeSlow, openAccountStage, posts } from '../support/account-stage.ts';
import { users } from '../support/accounts.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { type Json, listOf } from '../support/webhook-service.ts';

test('endpoints of accounts take no places of those of superusers, and no account those of all others', async (t) => {
  const stage = await openAccountStage(t);
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
  const stage = await openAccountStage(t);
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
  const stage = await openAccountStage(t);
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
  const stage = await openAccountStage(t);
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
  const stage = await openAccountStage(t, { parts: { clock } });
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
  await service.withInstance('default', async ({ database, dueClock, endpoints: stored }) => {
    const safeFor = await readSafeFor({ database, endpoints: stored }, Number.MAX_SAFE_INTEGER);
    await moveCursors(database, { safeFor, isEnding: () => false });
    const tomorrow = clock.now() + 86_400_000;
    const { last } = await trimLog({ database, dueClock }, { before: tomorrow, from: 0 });
    const [first] = await database.tuples(
      sql`SELECT min(position) FROM ${database.names.table('$event')} WHERE ${database.names.instance.condition}`,
    );
    assert.ok(Number(first?.[0]) > last, 'what is decided can go');
    const [left] = await database.tuples(
      sql`SELECT count(*) FROM ${database.names.table('$event')} WHERE ${database.names.instance.condition}`,
    );
    assert.equal(Number(left?.[0]), titles.length);
    // Its lane has passed nothing that is decided later, and the others have passed all.
    const cursors = await database.tuples(
      sql`SELECT cursor FROM ${database.names.table('$lane')} WHERE ${database.names.instance.condition} ORDER BY endpoint`,
    );
    assert.deepEqual(
      cursors.map(([cursor]) => Number(cursor) >= Number(first?.[0])),
      [false, true, true],
    );
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
  const stage = await openAccountStage(t, { parts: { clock } });
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
  await service.call('POST', `${endpoints}/${skipping.id}/resume`, { body: { backlog: 'skip' } });
  const { items } = await service.call('GET', '/api/webhooks/lanes');
  assert.equal(listOf(items).find(({ id }) => id === skipping.id)?.undecided, '');
  assert.equal((await stage.accounts.update(bob.id, { name: 'quick' }, true)).status, 200);
  await add(stage, 'two');
  await eventually('all is told', () => told().length === 2 && told('/skipped').length > 0);
  assert.deepEqual([told().toSorted(), told('/skipped')], [['one', 'two'], ['two']]);
});

test('the endpoints of an account that is deleted are paused with that reason, which every event says', async (t) => {
  const stage = await openAccountStage(t);
  const { account, own, service } = stage;
  const [ann, bob] = [await account('ann'), await account('bob')];
  const [ofAnn, ofBob] = [await own(ann), await own(bob)];
  await add(stage, 'first');
  await eventually('both are told', () => stage.told().length === 2);
  await service.call('DELETE', `${users}/${ann.id}`, { status: 204 });
  const statusOf = async ({ id }: Json): Promise<Json> => service.call('GET', `${endpoints}/${id}`);
  const paused = await eventually('it is paused', async () => {
    const endpoint = await statusOf(ofAnn);
    return endpoint.status === 'paused' && endpoint;
  });
  assert.equal(paused.statusReason, 'The account that it belongs to was deleted.');
  assert.equal((await statusOf(ofBob)).status, 'active');
  await add(stage, 'second');
  await eventually('the other is told', () => stage.told().length === 3);
  const { items } = await service.call('GET', '/api/webhooks/events?sort=-created');
  const last = listOf(items).find(({ kind }) => kind === 'record.create');
  const why = await service.call('GET', `/api/webhooks/events/${last.id}/why?endpoint=${ofAnn.id}`);
  const [{ reason, message }] = listOf(why.items);
  assert.deepEqual([reason, message], ['owner-deleted', paused.statusReason]);
});
