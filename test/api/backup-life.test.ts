// Both engines: instances live in a row of either.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { JobStore } from '../../src/backups/job-store.ts';
import { eventually } from '../support/eventually.ts';
import { startWebhookService } from '../support/webhook-service.ts';

test('of two restores at once one is refused, and the other is whole', async (t) => {
  const service = await startWebhookService(t);
  await service.addPost('kept');
  await service.call('POST', '/api/backups', { body: { name: 'one.zip' }, status: 204 });
  await service.addPost('later');
  const restore = (): ReturnType<typeof service.request> =>
    service.request('/api/backups/one.zip/restore', { method: 'POST', token: true });
  const backup = service.request('/api/backups', { method: 'POST', token: true, body: { name: 'two.zip' } });
  const answers = await Promise.all([restore(), restore(), backup]);
  assert.equal(answers.filter(({ status }) => status === 204).length, 1);
  for (const { status, json } of answers.filter((answer) => answer.status !== 204))
    assert.match(`${status} ${json.message}`, /^400 Try again later/);
  await eventually('it is served', async () => (await fetch(`${service.url}/api/health`)).status === 200);
  const { totalItems } = await service.call('GET', '/api/records/posts');
  assert.ok([1, 2].includes(totalItems));
});

test('an instance that a backup is about to replace cannot be changed, and is served again where that fails', async (t) => {
  const service = await startWebhookService(t);
  const { directory } = service.app.data;
  const shop = await directory.create('shop', null);
  await directory.beginReplacing(shop.id);
  for (const change of [
    () => directory.delete(shop.id),
    () => directory.suspend(shop.id),
    () => directory.rename(shop.id, 'store'),
    () => directory.beginReplacing(shop.id),
  ])
    await assert.rejects(change, { code: 'conflict' });
  const refused = await service.request('/i/shop/api/health');
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '2']);
  await directory.endReplacing(shop.id);
  assert.equal((await service.request('/i/shop/api/health')).status, 200);
});

test('a job whose process has ended is given up, and what it began is undone', async (t) => {
  const service = await startWebhookService(t);
  const { directory, home } = service.app.data;
  const shop = await directory.create('shop', null);
  // The clock of a process that ended a minute ago.
  const jobs = new JobStore(home.background, { now: () => Date.now() - 60_000 });
  const job = { instance: shop.id, kind: 'restore', backup: 'one.zip', place: '', isAuto: false } as const;
  const { id } = await jobs.begin(job, 'another process');
  await directory.beginReplacing(shop.id);
  await eventually('it is given up', async () => (await jobs.find(id))?.state === 'failed');
  assert.equal((await jobs.find(id))?.message, 'The process that ran it has ended.');
  await eventually('it is served', async () => (await service.request('/i/shop/api/health')).status === 200);
});

test('an instance that is deleted during its backup is gone, and nothing is left of the backup', async (t) => {
  const service = await startWebhookService(t);
  const { directory, home, dueClock } = service.app.data;
  const shop = await directory.create('shop', null);
  const jobs = new JobStore(home.background, dueClock);
  const job = { instance: shop.id, kind: 'backup', backup: 'one.zip', place: '', isAuto: false } as const;
  const { id } = await jobs.add(job);
  await directory.delete(shop.id);
  await eventually('it is over', async () => ((await jobs.find(id))?.ended ?? '') !== '');
  assert.equal((await service.request('/i/shop/api/health')).status, 404);
  const partial = join(service.data, 'backups', '.partial');
  assert.deepEqual(existsSync(partial) ? readdirSync(partial) : [], []);
});
