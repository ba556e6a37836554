import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { JobStore } from '../../src/backups/job-store.ts';
import { sql } from '../../src/sql/sql.ts';
import type { Database, Tuple } from '../../src/storage/database.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { NodeGroup, posts } from './node-group.ts';

const dayMs = 86_400_000;

/** Returns the jobs of an instance: kind, state, message and backup. */
function jobsOf(control: Database, instance: string): Promise<readonly Tuple[]> {
  const table = control.names.table('$transfer');
  return control.tuples(sql`SELECT kind, state, message, backup FROM ${table} WHERE instance = ${instance}`);
}

test('of two nodes with one schedule, each due time gives one backup of each instance', async (t) => {
  const clock = new MovableClock();
  const group = await NodeGroup.open(t, clock);
  const folder = temporaryFolder(t);
  const flags = { 'backup-to': folder, 'backup-cron': '0 3 * * *', 'backup-keep': '100' };
  const [one] = [await group.start(group.postgres, flags), await group.start(group.postgres, flags)];
  const { directory, home } = one.data;
  for (const slug of ['acme', 'beta']) await directory.create(slug, null);
  const jobs = new JobStore(home.background, clock);
  const instances = directory.all().map(({ shownId }) => shownId);
  assert.equal(instances.length, 3);
  for (let day = 1; day <= 4; day += 1) {
    clock.move(dayMs);
    await eventually(`the backups of day ${day} are made`, async () => {
      const counts = await Promise.all(
        instances.map(async (instance) => (await jobsOf(home.background, instance)).length),
      );
      return (await jobs.listOpen()).length === 0 && counts.every((count) => count >= day);
    });
  }
  for (const instance of instances) {
    const all = await jobsOf(home.background, instance);
    assert.deepEqual(
      all.map(([kind, state, message]) => [kind, state, message]),
      Array.from({ length: 4 }, () => ['backup', 'done', '']),
    );
    assert.deepEqual(
      new Set(readdirSync(join(folder, instance))),
      new Set(all.map(([, , , backup]) => backup)),
    );
  }
});

test('a restore that another node has given up is whole or undone, as its job says', async (t) => {
  const group = await NodeGroup.open(t);
  const flags = { backups: temporaryFolder(t) };
  const nodes = [await group.start(group.postgres, flags), await group.start(group.postgres, flags)] as const;
  const [one, two] = nodes;
  await group.signIn(one);
  await group.get(one, 'POST /api/collections', posts);
  await group.get(one, 'POST /api/records/posts', { title: 'kept' });
  await group.get(one, 'POST /api/backups', { name: 'one.zip' });
  await group.get(one, 'POST /api/records/posts', { title: 'later' });
  const { directory, home } = one.data;
  const instance = directory.findBySlug('default')?.shownId ?? '';
  const jobs = new JobStore(home.background, one.data.dueClock);
  const answer = group.ask(one, 'POST /api/backups/one.zip/restore');
  const { id, holder } = await eventually('it runs', async () => {
    const open = await jobs.findOpen(instance);
    return open?.state === 'running' ? open : undefined;
  });
  // The process that runs it stands still, as far as the other one can tell.
  await eventually('it is taken over, or over', async () => {
    await home.background.write((tx) =>
      tx.run(
        sql`UPDATE ${tx.names.table('$transfer')} SET held_until = 1 WHERE id = ${id} AND holder = ${holder} AND state = 'running'`,
      ),
    );
    const job = await jobs.find(id);
    return job?.holder !== holder || job.state !== 'running';
  });
  const { status, json } = await answer;
  const { state, message } = (await jobs.find(id)) ?? {};
  if (state === 'done') assert.equal(status, 204);
  else
    assert.deepEqual([status, json.message, message], [400, message, 'The process that ran it has ended.']);
  t.diagnostic(`the job is ${state}`);
  for (const node of [one, two])
    await eventually('it is served', async () => (await group.ask(node, 'GET /api/health')).status === 200);
  const records = (await group.get(two, 'GET /api/records/posts')).totalItems;
  assert.equal(records, state === 'done' ? 1 : 2);
  // The late holder notices with its next step, and leaves the instance to the jobs that follow.
  await group.get(two, 'POST /api/records/posts', { title: 'after' });
  await group.get(two, 'POST /api/backups', { name: 'two.zip' });
  await eventually('no half instance is left', async () => {
    const rows = await directory.list();
    return rows.every((row) => row.state !== 'filling' && row.state !== 'replacing');
  });
  await group.get(one, 'POST /api/backups/two.zip/restore');
  await eventually('it is served', async () => (await group.ask(two, 'GET /api/health')).status === 200);
  assert.equal((await group.get(two, 'GET /api/records/posts')).totalItems, records + 1);
});
