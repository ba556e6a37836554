// Both engines: the data of an instance is a folder, or a schema and rows of shared tables.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import { addPost, makeInstance } from '../../test/support/instance-fleet.ts';
import { issueSuperuserToken } from '../../test/support/issue-superuser-token.ts';
import { logInto } from '../../test/support/log-into.ts';
import { MovableClock } from '../../test/support/movable-clock.ts';
import { S3StandIn } from '../../test/support/s3-stand-in.ts';
import { startService, type TestService } from '../../test/support/service.ts';
import { CronRuns } from '../crons/cron-runs.ts';
import { sql } from '../sql/sql.ts';
import type { DataHome } from '../storage/data-home.ts';
import { toTimestamp } from '../base/timestamp.ts';
import { insertFilling } from './instance-rows.ts';
import { InstanceRemovals } from './instance-removals.ts';

const dayMs = 86_400_000;

interface Stage {
  readonly service: TestService;
  readonly clock: MovableClock;
  readonly log: string[];
  readonly id: string;
  readonly folder: string;
  /** Removes what is due, as a process does that works on this data. */
  readonly remove: (home?: DataHome) => Promise<void>;
}

/** A service with the instances `shop`, which has a record, and `other`. */
async function startShop(t: TestContext, { isFixed = true } = {}): Promise<Stage> {
  const clock = new MovableClock(isFixed ? undefined : Date.now());
  const service = await startService(t, isFixed ? { parts: { clock } } : {});
  for (const slug of ['shop', 'other']) {
    await makeInstance(service, slug, { url: 'http://127.0.0.1:9/' });
    await addPost(service, slug);
  }
  const { data } = service.app;
  const folder = join(service.data, 'instances');
  const log: string[] = [];
  const backups = join(service.data, 'backups');
  const parts = { ...data, folder, backups, deletedDays: 7, clock, logger: logInto(log) };
  const remove = async (home = data.home): Promise<void> => {
    const removals = new InstanceRemovals({ ...parts, home });
    await removals.look();
    await removals.stop();
  };
  const id = data.directory.findBySlug('shop')?.id ?? '';
  mkdirSync(join(backups, id), { recursive: true });
  assert.ok(await new CronRuns(data.home.control, clock).claimNow(id, 'fileCleanup'));
  return { service, clock, log, id, folder, remove };
}

/** How many rows of the instance there are in all tables that instances share. */
async function countRows({ service, id }: Stage): Promise<number> {
  const { control } = service.app.data.home;
  if (control.engine === 'sqlite') return 0;
  const tables = await control.tuples(sql`
    SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'instance_id'
    WHERE c.relnamespace = 'chancery'::regnamespace AND c.relkind IN ('r', 'p')`);
  let count = 0;
  for (const [name] of tables) {
    // A table that this version has made.
    const table = control.names.table(`$${String(name)}` as '$event');
    const [row] = await control.tuples(sql`SELECT count(*) FROM ${table} WHERE instance_id = ${id}`);
    count += Number(row?.[0]);
  }
  return count;
}

async function assertGone(stage: Stage): Promise<void> {
  const { service, id, folder } = stage;
  const { directory, home } = service.app.data;
  assert.equal(
    (await directory.list()).some((one) => one.id === id),
    false,
  );
  assert.equal(existsSync(join(folder, id)), false);
  assert.equal(existsSync(join(service.data, 'backups', id)), false);
  assert.equal(await countRows(stage), 0);
  const runs = home.control.names.table('$cron_run');
  assert.deepEqual(await home.control.tuples(sql`SELECT id FROM ${runs} WHERE instance = ${id}`), []);
  if (home.control.engine === 'sqlite')
    for (const name of ['$due', '$command', '$upgrade'] as const) {
      const rows = sql`SELECT 1 FROM ${home.control.names.table(name)} WHERE instance = ${id}`;
      assert.deepEqual(await home.control.tuples(rows), [], name);
    }
  else {
    const schema = sql`SELECT 1 FROM pg_namespace WHERE nspname = ${`i_${id}`}`;
    assert.deepEqual(await home.control.tuples(schema), []);
  }
  await assert.rejects(directory.restore(id), /There is no instance/);
  const { json } = await service.request('/i/other/api/collections/posts/records');
  assert.equal(json.totalItems, 1);
}

test('a deleted instance is kept for its days, and then removed with all that it had', async (t) => {
  const stage = await startShop(t);
  const { service, clock, id, log, remove } = stage;
  const { directory } = service.app.data;
  await directory.delete(id);
  await eventually('it is closed', () => !service.app.data.instances.isOpen(id));
  clock.move(7 * dayMs - 1);
  await remove();
  await directory.restore(id);
  assert.equal((await service.request('/i/shop/api/collections/posts/records')).json.totalItems, 1);
  clock.move(dayMs);
  await remove();
  assert.equal((await service.request('/i/shop/api/health')).status, 200);
  await directory.delete(id);
  await eventually('it is closed', () => !service.app.data.instances.isOpen(id));
  clock.move(7 * dayMs);
  await remove();
  await assertGone(stage);
  assert.deepEqual(log, []);
});

test('a removal that dies at any step is taken up again, and nothing of it can be restored', async (t) => {
  const stage = await startShop(t);
  const { service, clock, id, log, remove } = stage;
  const { directory, home } = service.app.data;
  await directory.delete(id);
  await eventually('it is closed', () => !service.app.data.instances.isOpen(id));
  clock.move(7 * dayMs);
  // Dies before its data is removed, after a part of it, and after all of it.
  const deaths: readonly (() => Promise<void>)[] = [
    () => Promise.reject(new Error('died before')),
    async () => {
      await home.removeInstance(id);
      throw new Error('died after');
    },
  ];
  for (const removeInstance of deaths) {
    await remove(Object.assign(Object.create(home), { control: home.control, removeInstance }));
    await assert.rejects(directory.restore(id), /being removed/);
  }
  assert.equal(log.length, 2);
  await remove();
  await assertGone(stage);
});

test('files of a deleted instance are removed from S3, and no others of the bucket', async (t) => {
  const remote = await S3StandIn.open();
  t.after(() => remote[Symbol.asyncDispose]());
  // Requests to S3 are signed with the time.
  const stage = await startShop(t, { isFixed: false });
  const { service, clock, id, log, remove } = stage;
  const token = await service.withInstance('shop', (instance) =>
    issueSuperuserToken(instance, 'root@example.com'),
  );
  const ok = async (method: string, path: string, body: object): Promise<void> => {
    const answer = await service.request(`/i/shop${path}`, { method, token, body });
    assert.ok(answer.status < 300, answer.text);
  };
  await ok('PATCH', '/api/settings', { s3: remote.settings });
  const fields = [{ name: 'file', type: 'file', maxSelect: 1 }];
  await ok('POST', '/api/collections', { name: 'papers', createRule: '', fields });
  const form = new FormData();
  form.set('file', new Blob(['hello']), 'a.txt');
  const path = `${service.url}/i/shop/api/collections/papers/records`;
  const made = await fetch(path, { method: 'POST', body: form });
  assert.equal(made.status < 300, true, await made.text());
  remote.objects.set('others/r/a.txt', { bytes: Buffer.from('b'), type: 'text/plain', modified: new Date() });
  assert.equal(remote.keys.length, 2);
  const { directory, instances } = service.app.data;
  await directory.delete(id);
  await eventually('it is closed', () => !instances.isOpen(id));
  clock.move(8 * dayMs);
  await remove();
  assert.deepEqual(log, []);
  assert.deepEqual(remote.keys, ['others/r/a.txt']);
  await assertGone(stage);
});

test('what an import has left that was cut off is removed within the hour, or after a day where it can go on', async (t) => {
  const { service, clock, remove } = await startShop(t);
  const { directory, home } = service.app.data;
  const now = toTimestamp(clock.now());
  for (const [id, isResumable] of [
    ['aaaaaaaaaaaaaaa', false],
    ['bbbbbbbbbbbbbbb', true],
  ] as const)
    await home.control.write((tx) =>
      insertFilling(tx, { id, shownId: id, slug: id, host: null, created: now, key: '', isResumable }, now),
    );
  const left = async (): Promise<readonly string[]> =>
    (await directory.list()).filter(({ state }) => state === 'filling').map(({ id }) => id);
  await remove();
  assert.equal((await left()).length, 2);
  clock.move(dayMs - 1);
  await remove();
  assert.deepEqual(await left(), ['bbbbbbbbbbbbbbb']);
  clock.move(1);
  await remove();
  assert.deepEqual(await left(), []);
});
