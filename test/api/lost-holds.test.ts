// Both engines: whose job it is decides a transaction of the shared database.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { JobStore, type TransferJob } from '../../src/backups/job-store.ts';
import { undoJob } from '../../src/jobs/undo-job.ts';
import { sql } from '../../src/sql/sql.ts';
import { type BegunJob, beginJob } from '../support/begin-job.ts';
import { eventually } from '../support/eventually.ts';
import { startWebhookService, type WebhookService } from '../support/webhook-service.ts';

interface Stage {
  readonly service: WebhookService;
  readonly jobs: JobStore;
  /** Begins a job of the instance as another process does, and does its work here. */
  readonly begin: (kind: TransferJob['kind'], backup: string) => Promise<BegunJob>;
  /** Has a process whose clock is ahead take the job over. */
  readonly takeOver: (job: TransferJob) => Promise<TransferJob>;
}

/** An instance with a backup of one record, and a later one. */
async function startStage(t: TestContext): Promise<Stage> {
  const service = await startWebhookService(t);
  const { data } = service.app;
  const { home } = data;
  const jobs = new JobStore(home.background, data.dueClock);
  const later = new JobStore(home.background, { now: () => data.dueClock.now() + 60_000 });
  await service.addPost('kept');
  await service.call('POST', '/api/backups', { body: { name: 'one.zip' }, status: 204 });
  await service.addPost('later');
  return {
    service,
    jobs,
    begin: (kind, backup) => beginJob(service, 'default', { kind, backup }),
    takeOver: async (job) => {
      const taken = await later.takeOver(job, 'whoever noticed');
      assert.ok(taken !== undefined, 'the hold is over');
      return taken;
    },
  };
}

/** The instance is served with both records, no other is left, and nothing of the job is there. */
async function assertUndone({ service }: Stage): Promise<void> {
  await eventually('it is served', async () => (await fetch(`${service.url}/api/health`)).status === 200);
  assert.equal((await service.call('GET', '/api/records/posts')).totalItems, 2);
  const rows = await service.app.data.directory.list();
  assert.deepEqual(
    rows.map(({ slug, state }) => [slug, state]),
    [['default', 'active']],
  );
  const partial = join(service.data, 'backups', '.partial');
  assert.deepEqual(existsSync(partial) ? readdirSync(partial) : [], []);
}

const refusal = { code: 'conflict', message: 'The job stood still for too long, and was given up.' };

test('a restore that was given up before it takes the place of the instance does not begin to', async (t) => {
  const stage = await startStage(t);
  const { service, jobs, begin, takeOver } = stage;
  const { job, run } = await begin('restore', 'one.zip');
  const taken = await takeOver(job);
  await jobs.end(taken, { state: 'failed', bytes: 0, message: 'It was given up.' });
  const since = async (): Promise<unknown> =>
    (await service.app.data.directory.list()).map(({ slug, stateSince }) => [slug, stateSince]);
  const before = await since();
  await assert.rejects(run(), refusal);
  assert.deepEqual(await since(), before);
  await assertUndone(stage);
  assert.equal((await jobs.find(job.id))?.state, 'failed');
});

test('a restore that was given up in the middle of its exchange does not exchange, and the instance is served', async (t) => {
  const stage = await startStage(t);
  const { service, jobs, begin, takeOver } = stage;
  const { directory } = service.app.data;
  const { job, run } = await begin('restore', 'one.zip');
  const running = run();
  await eventually('it has begun', async () => {
    await directory.refresh();
    return directory.findBySlug('default')?.state === 'replacing';
  });
  // Whoever takes it over has not undone anything yet.
  const taken = await takeOver(job);
  await assert.rejects(running, refusal);
  assert.equal(await jobs.renew(job), false);
  await undoJob(service.app.data, taken);
  await jobs.end(taken, { state: 'failed', bytes: 0, message: 'It was given up.' });
  await assertUndone(stage);
  await service.addPost('written again');
  await service.call('POST', '/api/backups/one.zip/restore', { status: 204 });
});

test('a backup that was given up is not stored', async (t) => {
  const stage = await startStage(t);
  const { service, jobs, begin, takeOver } = stage;
  const { job, run } = await begin('backup', 'two.zip');
  const taken = await takeOver(job);
  await assert.rejects(run(), refusal);
  await jobs.end(taken, { state: 'failed', bytes: 0, message: 'It was given up.' });
  const list: readonly { readonly key: string }[] = await service.call('GET', '/api/backups');
  assert.deepEqual(
    list.map(({ key }) => key),
    ['one.zip'],
  );
  await assertUndone(stage);
});

test('only the holder of a job ends it, and of several that take it over one does', async (t) => {
  const { jobs, service, begin, takeOver } = await startStage(t);
  const { job } = await begin('verify', 'one.zip');
  assert.equal(await jobs.takeOver(job, 'too early'), undefined);
  const taken = await takeOver(job);
  const later = new JobStore(service.app.data.home.background, { now: () => Date.now() + 120_000 });
  const several = await Promise.all(['x', 'y', 'z'].map((holder) => later.takeOver(taken, holder)));
  const winners = several.filter((one) => one !== undefined);
  assert.equal(winners.length, 1);
  const done = { state: 'done', bytes: 1, message: '' } as const;
  for (const late of [job, taken]) {
    await jobs.end(late, done);
    assert.equal((await jobs.find(job.id))?.state, 'running');
  }
  for (const winner of winners) await jobs.end(winner, done);
  assert.equal((await jobs.find(job.id))?.state, 'done');
});

test('a process that stood still does not give up the jobs that it runs itself', async (t) => {
  const { service, jobs } = await startStage(t);
  const restoring = service.request('/api/backups/one.zip/restore', { method: 'POST', token: true });
  await eventually('it runs', async () => (await jobs.listOpen()).some(({ state }) => state === 'running'));
  await service.app.data.home.background.write((tx) =>
    tx.run(sql`UPDATE ${tx.names.table('$transfer')} SET held_until = 1 WHERE state = 'running'`),
  );
  const { status, text } = await restoring;
  assert.equal(status, 204, text);
  const { totalItems } = await eventually('it is served', () => service.call('GET', '/api/records/posts'));
  assert.equal(totalItems, 1);
});

test('a holder whose job was taken over hears of it with its next renewal', async (t) => {
  const { jobs, begin, takeOver } = await startStage(t);
  const { job } = await begin('verify', 'one.zip');
  const lost = Promise.withResolvers<void>();
  const release = jobs.keepHeld(job, lost.resolve);
  t.after(release);
  await takeOver(job);
  await lost.promise;
});
