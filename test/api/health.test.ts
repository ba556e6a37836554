// Both engines: health tells of the engine, and counts by SQL.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Flags } from '../../src/config/config.ts';
import { sql } from '../../src/sql/sql.ts';
import type { Database } from '../../src/storage/database.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { startService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { testEngine } from '../support/test-config.ts';
import { startWebhookService, type Json, type WebhookService } from '../support/webhook-service.ts';

test('health is public, and tells superusers more', async (t) => {
  const service = await startService(t);
  const asGuest = await service.request('/api/health');
  assert.equal(asGuest.status, 200);
  assert.equal(asGuest.text, '{"code":200,"message":"API is healthy.","data":{}}');
  const asSuperuser = await service.request('/api/health', { token: true });
  assert.equal(asSuperuser.json.data.engine, testEngine);
  assert.equal(asSuperuser.json.data.oldestUndeliveredSeconds, 0);
  assert.equal(asSuperuser.json.data.exhaustedLastDay, 0);
});

/** What health tells a superuser of deliveries. */
async function healthOf(service: WebhookService): Promise<Json> {
  await service.signIn();
  const { data } = await service.call('GET', '/api/health');
  return { oldest: data.oldestUndeliveredSeconds, exhausted: data.exhaustedLastDay };
}

test('health tells how old the oldest waiting event is, and how many deliveries were exhausted in a day', async (t) => {
  const clock = new MovableClock();
  const mode = { kind: 'status', status: 500 } as const;
  const service = await startWebhookService(t, { mode, parts: { clock } });
  await service.addEndpoint({ schedule: [] });
  const { id } = await service.addEndpoint({ status: 'paused' });
  await service.addPost();
  const areExhausted = async (count: number): Promise<boolean> =>
    (await service.deliveries("status='exhausted'")).length === count;
  await eventually('the first is exhausted', () => areExhausted(1));
  assert.deepEqual(await healthOf(service), { oldest: 0, exhausted: 1 });
  clock.move(23 * 3_600_000);
  await service.signIn();
  await service.addPost();
  await eventually('the second is exhausted', () => areExhausted(2));
  assert.deepEqual(await healthOf(service), { oldest: 23 * 3_600, exhausted: 2 });
  clock.move(2 * 3_600_000);
  assert.deepEqual(await healthOf(service), { oldest: 25 * 3_600, exhausted: 1 });
  await service.call('DELETE', `/api/webhooks/endpoints/${id}`);
  assert.deepEqual(await healthOf(service), { oldest: 0, exhausted: 1 });
});

/** Inserts as many deliveries of one kind, all made now. */
async function insertDeliveries(database: Database, count: number): Promise<void> {
  const { names } = database;
  const created = new Date().toISOString().replace('T', ' ');
  const numbers = sql`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`;
  await database.write((tx) =>
    tx.run(sql`
      INSERT INTO ${names.table('$outcome')} (${names.instance.column}event, endpoint, status, attempts, is_wide, cause, updated)
      ${numbers} SELECT ${names.instance.value}i, 1, 'exhausted', 1, 0, '', ${created} FROM n`),
  );
}

test('health counts at most 1,000 exhausted deliveries', async (t) => {
  const service = await startWebhookService(t);
  await service.withInstance('default', ({ database }) => insertDeliveries(database, 1_001));
  assert.equal((await healthOf(service)).exhausted, 1_000);
});

test('probes tell whether the process is alive and ready', async (t) => {
  const service = await startService(t);
  assert.equal((await service.request('/api/health/live')).status, 200);
  assert.equal((await service.request('/api/health/ready')).status, 200);
});

test('a superuser is told where other nodes may not find the files', async (t) => {
  const warningsOf = async (flags: Flags): Promise<readonly string[]> => {
    const service = await startService(t, { flags });
    const { json } = await service.request('/api/health', { token: true });
    const started = service.log.map(({ message }) => message);
    const warnings: readonly string[] = json.data.warnings;
    assert.ok(warnings.every((warning) => started.includes(warning)));
    return warnings;
  };
  const told = await warningsOf({});
  assert.equal(told.length, testEngine === 'postgres' ? 1 : 0);
  assert.ok(told.every((warning) => warning.startsWith('Files of records are kept on a disk of this node')));
  assert.deepEqual(await warningsOf({ files: temporaryFolder(t) }), []);
});
