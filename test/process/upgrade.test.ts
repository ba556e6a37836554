import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { controlMigrations } from '../../src/storage/migrations/control-migrations.ts';
import { instanceDeliveryLog } from '../../src/storage/migrations/instance-delivery-log.ts';
import { instanceMigrations } from '../../src/storage/migrations/instance-migrations.ts';
import { FaultyDisk, faultyDiskMissing } from '../faults/faulty-disk.ts';
import { eventually } from '../support/eventually.ts';
import { runMain, serveMain, startMain, type Ended, type ServingMain } from '../support/main-process.ts';
import { startService } from '../support/service.ts';
import { runCommandOver } from '../support/start-command.ts';
import { takeBackDeliveryLog } from '../support/take-back-delivery-log.ts';
import { masterKey } from '../support/test-config.ts';

const environment = { CHANCERY_KEY: masterKey };
/** How many steps the migrations of an older version have. */
const olderSteps = instanceMigrations.indexOf(instanceDeliveryLog);
const controlSteps = controlMigrations.findIndex(({ name }) => name === 'work that is due');
const copyNames = [`control.db-schema-${controlSteps}`, `data.db-schema-${olderSteps}`];

/** The data directory of an older version, with a record, and the folder of its instance. */
async function makeOlder(t: TestContext): Promise<{ readonly data: string; readonly folder: string }> {
  const service = await startService(t);
  const fields = [{ name: 'title', type: 'text' }];
  const body = { name: 'posts', listRule: '', fields };
  await service.request('/api/collections', { method: 'POST', token: true, body });
  const created = await service.request('/api/records/posts', {
    method: 'POST',
    token: true,
    body: { title: 'Old' },
  });
  assert.equal(created.status, 201, created.text);
  await service.stop();
  await takeBackDeliveryLog(service.data, { deliveries: [], lanes: [] });
  // Older versions do not know it, and the copies that this version keeps do not have it.
  const control = new DatabaseSync(join(service.data, 'control.db'));
  control.exec(`DELETE FROM "$setting" WHERE name = 'upgrade_checked'; DELETE FROM "$migration" WHERE number > ${controlSteps};
    DROP TABLE "$due"; DROP TABLE "$command"; DROP TABLE "$upgrade"; DROP TABLE "$usage"; DROP INDEX "$instance_change";
    DROP TABLE "$transfer"; DROP TABLE "$backup_schedule"; DROP TABLE "$cron_run"; DROP TABLE "$schema_job"; DROP TABLE "$schema_result";
    DROP TABLE "$api_key"; DROP TABLE "$audit"; DROP TABLE "$idempotency"; DROP TABLE "$operator_event"; DROP TABLE "$operator_endpoint"`);
  for (const column of [
    'state',
    'state_since',
    'labels',
    'shown_id',
    'key',
    'before_delete',
    'change',
    'quotas',
  ])
    control.exec(`ALTER TABLE "$instance" DROP COLUMN ${column}`);
  control.close();
  const [instance = ''] = readdirSync(join(service.data, 'instances'));
  return { data: service.data, folder: join(service.data, 'instances', instance) };
}

function copiesIn(...folders: readonly string[]): readonly string[] {
  return folders.flatMap((folder) => readdirSync(folder)).filter((name) => name.includes('-schema-'));
}

/** The number of its steps, and the titles of the records. */
function readSteps(path: string): readonly unknown[] {
  const database = new DatabaseSync(path);
  const steps = database.prepare('SELECT count(*) AS steps FROM "$migration"').get();
  const titles = database.prepare('SELECT title FROM posts').all();
  database.close();
  return [steps?.['steps'], titles.map(({ title }) => title)];
}

/** Runs what docs/upgrades.md says, in a folder that has the directory under the name that is used there. */
function goBack(data: string): void {
  const manual = readFileSync(fileURLToPath(new URL('../../docs/upgrades.md', import.meta.url)), 'utf8');
  const [, commands = ''] = /\*\*To go back\*\*[^`]*```sh\n([^`]*)```/.exec(manual) ?? [];
  const folder = mkdtempSync(join(dirname(data), 'back-'));
  symlinkSync(data, join(folder, 'data'));
  const { status, stderr } = spawnSync('sh', ['-e', '-c', commands], { cwd: folder, encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  assert.deepEqual([status, stderr], [0, '']);
}

async function titlesOf({ url }: ServingMain): Promise<readonly unknown[]> {
  // The list contract of http-api.md.
  const list = (await (await fetch(`${url}/api/records/posts`)).json()) as {
    items: readonly { title: unknown }[];
  };
  return list.items.map(({ title }) => title);
}

test('a start over the data of an older version keeps copies of it, and with them there is a way back', async (t) => {
  const { data, folder } = await makeOlder(t);
  const copy = `data.db-schema-${olderSteps}`;
  // The second time over the copies that the first has kept.
  for (const _ of ['first', 'again']) {
    const served = await serveMain(t, data, { environment });
    await eventually('all instances are upgraded', () =>
      served.process.logLines().some(({ msg }) => msg === 'All instances are upgraded.'),
    );
    assert.deepEqual(await titlesOf(served), ['Old']);
    served.process.kill('SIGTERM');
    assert.equal((await served.process.ended).code, 0);
    assert.deepEqual(copiesIn(data, folder), copyNames);
    assert.deepEqual(readSteps(join(folder, 'data.db')), [instanceMigrations.length, ['Old']]);
    assert.deepEqual(readSteps(join(folder, copy)), [olderSteps, ['Old']]);
    goBack(data);
    assert.deepEqual(readSteps(join(folder, 'data.db')), [olderSteps, ['Old']]);
    assert.deepEqual(copiesIn(data, folder), []);
  }
});

test('a start of the same version copies nothing, and a command that upgrades copies as a start does', async (t) => {
  const { data, folder } = await makeOlder(t);
  for (const _ of ['first', 'again']) {
    const { code, stderr } = await runCommandOver(data, ['superuser', 'list']);
    assert.deepEqual([code, stderr], [0, '']);
    assert.deepEqual(copiesIn(data, folder), copyNames);
  }
  for (const name of copyNames) rmSync(join(name.startsWith('control') ? data : folder, name));
  const served = await serveMain(t, data, { environment });
  served.process.kill('SIGTERM');
  await served.process.ended;
  assert.deepEqual(copiesIn(data, folder), []);
  // As if the file of an instance were put back from an old backup.
  await takeBackDeliveryLog(data, { deliveries: [], lanes: [] });
  await runCommandOver(data, ['superuser', 'list']);
  assert.deepEqual(copiesIn(data, folder), [copyNames[1]]);
});

test(
  'without room for the copies neither server nor command starts, and nothing is changed',
  { skip: faultyDiskMissing ?? false },
  async (t) => {
    const { data, folder } = await makeOlder(t);
    const disk = new FaultyDisk();
    t.after(() => disk.close());
    const faulty = { ...environment, ...disk.environment(data) };
    const files = [join(data, 'control.db'), join(folder, 'data.db')];
    const before = files.map((file) => readFileSync(file));
    disk.fail({ call: 'write', error: 'ENOSPC', suffix: '.new' });
    const server = startMain(t, ['serve', '--port', '0', '--data', data], faulty);
    await eventually('it ended or listens', () => server.hasEnded || /listens on/.test(server.stdout));
    server.kill('SIGTERM');
    const refused: readonly Ended[] = await Promise.all([
      server.ended,
      runMain(t, ['superuser', 'list', '--data', data], faulty),
    ]);
    for (const { code, stdout, stderr } of refused) {
      assert.equal(code, 74);
      assert.match(
        stderr,
        /^chancery: \S+control\.db is of an older version, and stays as it is, as the copy that is kept before an upgrade cannot be made: database or disk is full\. Make room, or start with --keep-upgrade-copies 0 if you have a backup\.\n$/,
      );
      assert.doesNotMatch(stdout, /listens on/);
    }
    assert.deepEqual(
      files.map((file) => readFileSync(file)),
      before,
    );
    assert.deepEqual(copiesIn(data, folder), []);
    const without = await runMain(
      t,
      ['superuser', 'list', '--data', data, '--keep-upgrade-copies', '0'],
      faulty,
    );
    assert.deepEqual([without.code, without.stderr], [0, '']);
    assert.deepEqual(readSteps(join(folder, 'data.db')), [instanceMigrations.length, ['Old']]);
  },
);
