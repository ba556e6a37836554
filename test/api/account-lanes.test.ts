// Both engines: events are decided by rules in SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LaneSource } from '../../src/dispatch/lane-source.ts';
import { InstanceLanes } from '../../src/dispatch/lanes.ts';
import { alwaysSafe } from '../../src/events/log-horizon.ts';
import { add, makeSlow, openAccountStage } from '../support/account-stage.ts';
import { allDecided } from '../support/all-decided.ts';
import { eventually } from '../support/eventually.ts';
import { faultyDatabases } from '../support/faulty-databases.ts';
import { MovableClock } from '../support/movable-clock.ts';

/** What a lane is read by, and what tells for which of many lanes something is due. */
const readsOfLanes = ['WITH walked AS', 'WITH RECURSIVE lane'];

test('a write has no lane of an account read that is told of nothing', async (t) => {
  const { databases, wrapDatabase } = faultyDatabases();
  const stage = await openAccountStage(t, { parts: { wrapDatabase } });
  const { account, own, service, told } = stage;
  const accounts = [await account('ann'), await account('bob')];
  for (const one of accounts) for (let made = 0; made < 5; made += 1) await own(one);
  await add(stage, 'open');
  await eventually('each lane is read', () => told().length === 10);
  await eventually(
    'all is settled',
    async () => (await service.deliveries("status = 'pending'")).length === 0,
  );
  // What was committed before is looked at when this is decided, and looks follow each other.
  for (const title of ['first', 'second']) {
    await add(stage, title, { isPublic: false });
    await allDecided(service);
  }
  const countReads = (): number =>
    databases
      .flatMap((database) => database.texts)
      .filter((text) => readsOfLanes.some((part) => text.includes(part))).length;
  const before = countReads();
  for (let written = 0; written < 20; written += 1) await add(stage, 'secret', { isPublic: false });
  await allDecided(service);
  assert.equal(countReads() - before, 0);
});

test('a delivery to an account that is retried by hand is sent at once', async (t) => {
  const stage = await openAccountStage(t);
  const { account, own, service, told } = stage;
  service.receiver.mode = { kind: 'status', status: 400 };
  await own(await account('ann'), { schedule: [] });
  await add(stage, 'open');
  const [delivery] = await eventually('it is exhausted', async () => {
    const exhausted = await service.deliveries("status = 'exhausted'");
    return exhausted.length === 1 && exhausted;
  });
  service.receiver.mode = { kind: 'ok' };
  await service.call('POST', `/api/webhooks/deliveries/${delivery.id}/retry`);
  await eventually('it is sent again', () => told().length === 2);
});

test('a backlog of an account is sent the newest first where that is asked for', async (t) => {
  const stage = await openAccountStage(t);
  const { account, own, service, told } = stage;
  const { id } = await own(await account('ann'), { maxInFlight: 1, status: 'paused' });
  for (const title of ['a', 'b', 'c', 'd']) await add(stage, title);
  await allDecided(service);
  assert.equal((await service.deliveries("status = 'pending'")).length, 4);
  await service.call('POST', `/api/webhooks/endpoints/${id}/resume`, { body: { backlog: 'newest-first' } });
  await eventually('all are sent', () => told().length === 4);
  assert.deepEqual(told(), ['d', 'c', 'b', 'a']);
});

test('what is undecided when an account resumes with the newest first is sent as well', async (t) => {
  const clock = new MovableClock();
  const stage = await openAccountStage(t, { parts: { clock } });
  const { account, own, service, told } = stage;
  await makeSlow(stage);
  const ann = await account('ann', { name: 'slow' });
  const { id } = await own(ann, { status: 'paused' });
  for (const title of ['a', 'b']) await add(stage, title);
  await eventually('it is behind', async () => {
    const { items } = await service.call('GET', '/api/webhooks/lanes');
    return items[0].undecided !== '';
  });
  await service.call('POST', `/api/webhooks/endpoints/${id}/resume`, { body: { backlog: 'newest-first' } });
  assert.equal((await stage.accounts.update(ann.id, { name: 'quick' }, true)).status, 200);
  await eventually('all are sent', async () => {
    clock.move(60_000);
    service.look();
    return told().length === 2;
  });
});

test('what an account is sent for the first time takes no slot of retries', async (t) => {
  const stage = await openAccountStage(t);
  const { account, own, service } = stage;
  await own(await account('ann'), { status: 'paused' });
  await add(stage, 'open');
  await allDecided(service);
  await service.withInstance('default', async ({ database, endpoints, dueClock }) => {
    const [endpoint] = await endpoints.all(database);
    assert.ok(endpoint);
    const source = new LaneSource(0, database.names);
    await source.read(database, {
      endpoint: endpoint.number,
      now: dueClock.now(),
      safe: Number.MAX_SAFE_INTEGER,
    });
    assert.equal(source.take(false)?.isRetry, false);
  });
});

test('decisions that failed are made again while nothing else happens', async (t) => {
  const { databases, wrapDatabase } = faultyDatabases();
  const stage = await openAccountStage(t, { parts: { wrapDatabase } });
  const { account, own, service, told } = stage;
  await own(await account('ann'));
  await service.addEndpoint({ url: service.receiver.urlAt('127.0.0.1', '/all') });
  let failures = 0;
  for (const database of databases)
    database.searchFault = ({ text }) => {
      if (failures > 0 || !text.includes('CASE WHEN')) return undefined;
      failures += 1;
      return new Error('the database is away');
    };
  await add(stage, 'open');
  await eventually('it is told', () => told().includes('open'));
  assert.equal(failures, 1);
});

test('an instance whose decisions failed is due when they are made again', async (t) => {
  const clock = new MovableClock();
  const { databases, wrapDatabase } = faultyDatabases();
  const stage = await openAccountStage(t, { parts: { clock, wrapDatabase } });
  const { account, own, service, told } = stage;
  await own(await account('ann'));
  const away = new Error('the database is away');
  for (const database of databases)
    database.searchFault = ({ text }) => (text.includes('CASE WHEN') ? away : undefined);
  await add(stage, 'open');
  await service.withInstance('default', async (instance) => {
    const lanes = new InstanceLanes(instance.id);
    lanes.lend(instance);
    lanes.note('log');
    const now = instance.dueClock.now();
    const decisions = { safeEnd: alwaysSafe, isOver: () => false, onStep: () => undefined };
    await lanes.refill({ now, epoch: '', decisions });
    await lanes.decided();
    assert.equal(lanes.endLook(now), now + 1_000);
  });
  for (const database of databases) database.searchFault = () => undefined;
  await eventually('it is told', () => {
    clock.move(1_000);
    service.look();
    return told().includes('open');
  });
});
