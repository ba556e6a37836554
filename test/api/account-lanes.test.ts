import assert from 'node:assert/strict';
import { test } from 'node:test';
import { add, openAccountStage } from '../support/account-stage.ts';
import { allDecided } from '../support/all-decided.ts';
import { eventually } from '../support/eventually.ts';
import { faultyDatabases } from '../support/faulty-databases.ts';

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

test('decisions that failed are made again while nothing else happens', async (t) => {
  const { databases, wrapDatabase } = faultyDatabases();
  const stage = await openAccountStage(t, { parts: { wrapDatabase } });
  const { account, own, told } = stage;
  await own(await account('ann'));
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
