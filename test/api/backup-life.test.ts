// Both engines: instances live in a row of either.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { InstanceBackups } from '../../src/backups/instance-backups.ts';
import { JobStore } from '../../src/backups/job-store.ts';
import { beginJob } from '../support/begin-job.ts';
import { eventually } from '../support/eventually.ts';
import { makeOperatorKey, operatorCaller } from '../support/operator-stage.ts';
import { startWebhookService } from '../support/webhook-service.ts';

test('of two restores at once one is refused, and the other is whole', async (t) => {
  const service = await startWebhookService(t);
  await service.addPost('kept');
  await service.call('POST', '/api/backups', { body: { name: 'one.zip' }, status: 204 });
  await service.addPost('later');
  const restore = (): ReturnType<typeof service.request> =>
    service.request('/api/backups/one.zip/restore', { method: 'POST', token: true });
  const answers = await Promise.all([restore(), restore()]);
  const texts = answers.map(({ status, text }) => `${status} ${text}`).join('; ');
  assert.equal(answers.filter(({ status }) => status === 204).length, 1, texts);
  // One that comes while the backup takes the place of the instance is refused as all requests are then.
  for (const { status, json, headers } of answers.filter((answer) => answer.status !== 204))
    assert.match(
      `${status} ${json.message} ${headers.get('retry-after')}`,
      /^400 Try again later|^503 The instance is being restored from a backup\. 2$/,
    );
  await eventually('it is served', async () => (await fetch(`${service.url}/api/health`)).status === 200);
  assert.equal((await service.call('GET', '/api/records/posts')).totalItems, 1);
});

test('a request that found the instance before a backup took its place begins no other job', async (t) => {
  const service = await startWebhookService(t);
  const { data } = service.app;
  const jobs = new JobStore(data.home.background, data.dueClock);
  const run = async (kind: 'backup' | 'restore'): Promise<void> => {
    const { job, run } = await beginJob(service, 'default', { kind, backup: 'one.zip' });
    await run();
    await jobs.end(job, { state: 'done', bytes: 1, message: '' });
  };
  await run('backup');
  await service.withInstance('default', async (instance) => {
    await run('restore');
    const places = { folder: service.data, account: undefined };
    const parts = { places, requests: data.requests, clock: data.dueClock };
    const backups = new InstanceBackups(data.home.background, parts);
    const { signal } = new AbortController();
    const onAdded = (): void => assert.fail('the job was added');
    for (const kind of ['backup', 'restore'] as const)
      await assert.rejects(backups.run(instance, { kind, backup: 'one.zip' }, { signal, onAdded }), {
        code: 'unavailable',
        message: 'The instance is being restored from a backup.',
      });
  });
  assert.deepEqual(await jobs.listOpen(), []);
});

test('a request during a restore, or while a backup takes the place of the instance, gets what is documented', async (t) => {
  const service = await startWebhookService(t);
  const { directory, home, dueClock } = service.app.data;
  const jobs = new JobStore(home.background, dueClock);
  await service.call('POST', '/api/backups', { body: { name: 'one.zip' }, status: 204 });
  const { job } = await beginJob(service, 'default', { kind: 'restore', backup: 'one.zip' });
  const restore = (): ReturnType<typeof service.request> =>
    service.request('/api/backups/one.zip/restore', { method: 'POST', token: true });
  const { status, json } = await restore();
  assert.match(`${status} ${json.message}`, /^400 Try again later/);
  assert.equal((await service.request('/api/records/posts', { token: true })).status, 200);
  const { id = '' } = directory.findBySlug('default') ?? {};
  await directory.beginReplacing(id);
  for (const answer of [await restore(), await service.request('/api/records/posts', { token: true })])
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '2']);
  await directory.endReplacing(id);
  await jobs.end(job, { state: 'failed', bytes: 0, message: 'It was a test.' });
  assert.equal((await restore()).status, 204);
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

test('an instance that is renamed, bound, suspended, deleted or restored during its backup has a whole one', async (t) => {
  const service = await startWebhookService(t);
  const { directory, home, dueClock } = service.app.data;
  const { id } = await directory.create('shop', null);
  const jobs = new JobStore(home.background, dueClock);
  const changes: readonly (readonly [string, () => Promise<void>])[] = [
    ['renamed', () => directory.rename(id, 'store')],
    ['bound', () => directory.setHost(id, 'store.example.com')],
    ['suspended', () => directory.suspend(id)],
    ['resumed', () => directory.resume(id)],
    ['deleted', () => directory.delete(id)],
  ];
  for (const [backup, change] of changes) {
    const { slug = '' } = directory.findShown(id) ?? {};
    const { job, run } = await beginJob(service, slug, { kind: 'backup', backup: `${backup}.zip` });
    let changing: Promise<void> | undefined;
    await run(() => void (changing ??= change()));
    await changing;
    await jobs.end(job, { state: 'done', bytes: 1, message: '' });
  }
  await directory.restore(id);
  for (const [backup] of changes) {
    const { job, run } = await beginJob(service, 'store', { kind: 'verify', backup: `${backup}.zip` });
    await run();
    await jobs.end(job, { state: 'done', bytes: 1, message: '' });
  }
  assert.equal(
    (await service.request('/api/health', { headers: { host: 'store.example.com' } })).status,
    200,
  );
  const { job, run } = await beginJob(service, 'store', { kind: 'restore', backup: 'suspended.zip' });
  await run();
  await jobs.end(job, { state: 'done', bytes: 1, message: '' });
  // Slug and host are those of now, and not those of the backup.
  const { slug, host, shownId } = directory.findShown(id) ?? {};
  assert.deepEqual([slug, host, shownId], ['store', 'store.example.com', id]);
});

test('a restore over an instance that is suspended, or deleted meanwhile, is refused, and leaves it as it was', async (t) => {
  const service = await startWebhookService(t);
  const { directory, home, dueClock } = service.app.data;
  const { id } = await directory.create('shop', null);
  const jobs = new JobStore(home.background, dueClock);
  const backup = await beginJob(service, 'shop', { kind: 'backup', backup: 'one.zip' });
  await backup.run();
  await jobs.end(backup.job, { state: 'done', bytes: 1, message: '' });
  const rows = async (): Promise<unknown> =>
    (await directory.list()).map(({ id, slug, state }) => [id, slug, state]);
  for (const [change, back, reason] of [
    [
      () => directory.suspend(id),
      () => directory.resume(id),
      'The instance shop is suspended: resume it first.',
    ],
    [() => directory.delete(id), () => directory.restore(id), `There is no instance ${id}.`],
  ] as const) {
    const before = await rows();
    const restore = await beginJob(service, 'shop', { kind: 'restore', backup: 'one.zip' });
    let changing: Promise<void> | undefined;
    await assert.rejects(
      restore.run(() => void (changing ??= change())),
      { message: reason },
    );
    await changing;
    await jobs.end(restore.job, { state: 'failed', bytes: 0, message: reason });
    await back();
    assert.deepEqual(await rows(), before);
    assert.equal((await service.request('/i/shop/api/health')).status, 200);
  }
});

test('an instance that is being restored is neither cloned, backed up, renamed, suspended nor deleted', async (t) => {
  const service = await startWebhookService(t);
  const { directory, home, dueClock } = service.app.data;
  await directory.create('shop', null);
  const jobs = new JobStore(home.background, dueClock);
  const { key } = await makeOperatorKey(service);
  const call = operatorCaller(service, key);
  const backup = await beginJob(service, 'shop', { kind: 'backup', backup: 'one.zip' });
  await backup.run();
  await jobs.end(backup.job, { state: 'done', bytes: 1, message: '' });
  const { job, run } = await beginJob(service, 'shop', { kind: 'restore', backup: 'one.zip' });
  const restoring = run();
  await eventually('it is being replaced', () => directory.findBySlug('shop')?.state === 'replacing');
  const answers = [
    await call(400, 'POST /instances/shop/clone', { body: { slug: 'copy' } }),
    await call(400, 'POST /instances/shop/backups'),
    await call(409, 'PATCH /instances/shop', { body: { slug: 'store' } }),
    await call(409, 'PATCH /instances/shop', { body: { quotas: { records: 1 } } }),
    await call(409, 'POST /instances/shop/suspend'),
    await call(409, 'DELETE /instances/shop'),
  ];
  for (const { json } of answers) assert.match(json.message, /[Tt]ry again/);
  await restoring;
  await jobs.end(job, { state: 'done', bytes: 1, message: '' });
  await call(201, 'POST /instances/shop/clone', { body: { slug: 'copy' } });
  assert.equal((await service.request('/i/shop/api/health')).status, 200);
});

test('health shows the last backup, the last verification, and a failure until a later job succeeds', async (t) => {
  const service = await startWebhookService(t);
  const { home, dueClock } = service.app.data;
  const { shownId: instance = '' } = service.app.data.directory.findBySlug('default') ?? {};
  const jobs = new JobStore(home.background, dueClock);
  const run = async (kind: 'backup' | 'verify' | 'export', message = ''): Promise<void> => {
    const job = await jobs.begin({ instance, kind, backup: 'one.zip', place: '', isAuto: false }, 'a test');
    await jobs.end(job, { state: message === '' ? 'done' : 'failed', bytes: 7, message });
  };
  const read = async (): Promise<readonly unknown[]> => {
    const { backup, canBackup } = (await service.call('GET', '/api/health')).data;
    return [canBackup, backup.bytes, backup.last !== '', backup.verified !== '', backup.failure];
  };
  assert.deepEqual(await read(), [true, 0, false, false, '']);
  await run('verify');
  await run('backup');
  await run('backup', 'No room.');
  assert.deepEqual(await read(), [true, 7, true, true, 'No room.']);
  const open = await jobs.begin(
    { instance, kind: 'export', backup: 'one.zip', place: '', isAuto: false },
    'a test',
  );
  assert.deepEqual(await read(), [false, 7, true, true, 'No room.']);
  await jobs.end(open, { state: 'done', bytes: 1, message: '' });
  assert.deepEqual(await read(), [true, 7, true, true, '']);
});
