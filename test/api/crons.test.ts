// Both engines: each removes what has expired by its own SQL.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { Accounts } from '../support/accounts.ts';
import { eventually } from '../support/eventually.ts';
import { FileStage } from '../support/file-stage.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import { startService } from '../support/service.ts';

const jobs = [
  { id: 'fileCleanup', expression: '*/10 * * * *' },
  { id: 'webhookLogCleanup', expression: '0 * * * *' },
  { id: '__pbMFACleanup__', expression: '0 * * * *' },
  { id: '__pbOTPCleanup__', expression: '0 * * * *' },
  { id: '__pbLogsCleanup__', expression: '0 */6 * * *' },
];

test('the SDK lists the scheduled jobs and runs each, and an unknown one is a 404', async (t) => {
  const service = await startService(t);
  const pb = await superuserSdk(service);
  assert.deepEqual(await pb.crons.getFullList(), jobs);
  assert.deepEqual(
    await pb.crons.getFullList({ fields: 'id' }),
    jobs.map(({ id }) => ({ id })),
  );
  for (const { id } of jobs) assert.equal(await pb.crons.run(id), true, id);
  for (const id of ['nope', '__pbAutoBackup__', '__pbDBOptimize__', 'FileCleanup']) {
    const { status, message } = await refusalOf(pb.crons.run(id));
    assert.deepEqual([status, message], [404, 'Missing or invalid cron job.'], id);
  }
  const entries = `/api/audit?filter=${encodeURIComponent("action = 'cron.run'")}&sort=target`;
  await eventually('each is in the audit log', async () => {
    const { json } = await service.request(entries, { token: true });
    const items: readonly { readonly target: string }[] = json.items;
    const expected = jobs.map(({ id }) => id).toSorted();
    return items.map(({ target }) => target).join() === expected.join();
  });
});

test('a schedule of backups is a job as well, which makes one as the schedule does', async (t) => {
  const service = await startService(t);
  const pb = await superuserSdk(service);
  await pb.settings.update({ backups: { cron: '30 2 * * 1' } });
  assert.deepEqual((await pb.crons.getFullList()).at(-1), {
    id: '__pbAutoBackup__',
    expression: '30 2 * * 1',
  });
  assert.equal(await pb.crons.run('__pbAutoBackup__'), true);
  await eventually('it is made', async () => (await pb.backups.getFullList()).length === 1);
  const [backup] = await pb.backups.getFullList();
  assert.match(backup?.key ?? '', /^@auto_default_\d{14}\.zip$/);
  assert.equal(await settledBackup(pb), 'done');
  await pb.settings.update({ backups: { cron: '' } });
  assert.equal((await refusalOf(pb.crons.run('__pbAutoBackup__'))).status, 404);
});

async function settledBackup(pb: Awaited<ReturnType<typeof superuserSdk>>): Promise<string> {
  await eventually('the job is over', async () => {
    const { running } = await pb.send('/api/backups/status', {});
    return running === null;
  });
  const { failure } = await pb.send('/api/backups/status', {});
  return failure === null ? 'done' : 'failed';
}

test('codes and unfinished sign-ins that have expired are removed, with their secrets, and no others', async (t) => {
  const clock = new MovableClock();
  const accounts = await Accounts.start(t, { parts: { clock } });
  const { service } = accounts;
  await accounts.define({ otp: { enabled: true, duration: 600 }, mfa: { duration: 300 } });
  const pb = await superuserSdk(service);
  const ann = await accounts.account('ann');
  const { id: users } = await pb.collections.getOne('users');
  const account = { collectionRef: users, recordRef: ann.id };
  const add = async (): Promise<readonly string[]> => [
    (await pb.collection('_otps').create({ ...account, password: 'password' })).id,
    (await pb.collection('_mfas').create({ ...account, method: 'password' })).id,
  ];
  for (let count = 0; count < 3; count += 1) await add();
  clock.move(400_000);
  const [otp, mfa] = await add();
  clock.move(250_000);
  const run = async (id: string, collection: string, left: readonly unknown[]): Promise<void> => {
    await pb.crons.run(id);
    await eventually(`${collection} is cleaned`, async () => {
      const rows = await pb.collection(collection).getFullList({ fields: 'id' });
      return rows.length === left.length && rows.every((row) => left.includes(row.id));
    });
  };
  await run('__pbMFACleanup__', '_mfas', [mfa]);
  assert.equal((await pb.collection('_otps').getFullList()).length, 4);
  await run('__pbOTPCleanup__', '_otps', [otp]);
  const secrets = await service.withInstance('default', ({ database, collections }) =>
    database.tuples(sql`
      SELECT record FROM ${database.names.table('$secret')}
      WHERE ${database.names.instance.condition} AND collection = ${collections.get('_otps').id}`),
  );
  assert.deepEqual(secrets, [[otp]]);
});

test('a file that could not be removed is removed by its job', async (t) => {
  const stage = await FileStage.start(t);
  await stage.create([['photo', 'a', 'a.txt']]);
  await stage.service.withInstance('default', async ({ database, dueClock, files }) => {
    const keys = (await Array.fromAsync(files.store.list())).map(({ key }) => key);
    // As after a failure: due again, and this process does not know it.
    await database.write((tx) =>
      tx.run(sql`
        INSERT INTO ${tx.names.table('$file_removal')} (${tx.names.instance.column}key, due)
        VALUES (${tx.names.instance.value}${keys[0] ?? ''}, ${dueClock.now() - 1})`),
    );
    assert.equal(keys.length, 1);
  });
  const path = '/api/crons/fileCleanup';
  assert.equal((await stage.service.request(path, { method: 'POST', token: true })).status, 204);
  await eventually('it is removed', async () => (await stage.stored()).length === 0);
});
