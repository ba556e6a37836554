import assert from 'node:assert/strict';
import { chmodSync, existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { atEnd } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { runMain } from '../support/main-process.ts';
import { assertPrefix, CopiedService, superuser, typeBlock, Writers } from '../support/point-in-time.ts';
import { ask, startTestPostgres, type TestPostgres } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { masterKey } from '../support/test-config.ts';

/** The package that other tests use has no pg_basebackup: the binaries of a whole installation. */
const binaries = [
  process.env['CHANCERY_TEST_POSTGRES_BINARIES'] ?? '',
  ...globSync('/usr/lib/postgresql/*/bin'),
].find((folder) => existsSync(join(folder, 'pg_basebackup')) && existsSync(join(folder, 'postgres')));
const skip = binaries === undefined ? 'PostgreSQL with pg_basebackup is not installed here' : false;

test(
  'PostgreSQL is restored to the moment before a mistake as docs/point-in-time.md says, and webhooks go on',
  { skip },
  async (t) => {
    // The server runs as another user.
    const folder = mkdtempSync(join(tmpdir(), 'chancery-archive-'));
    atEnd(t, () => rmSync(folder, { recursive: true, force: true }));
    const places = { ARCHIVE: join(folder, 'archive'), BACKUPS: join(folder, 'backups') };
    for (const each of [folder, ...Object.values(places)]) {
      mkdirSync(each, { recursive: true });
      chmodSync(each, 0o777);
    }
    const settings = ['wal_level=replica', 'max_wal_senders=4', 'hot_standby=on'];
    const options = { settings, ...(binaries !== undefined && { binaries }) };
    const first = await startTestPostgres(options);
    atEnd(t, () => first.stop());
    const environment = { ...places, ...clientOf(first, binaries ?? '') };
    typeBlock('archive.sh', environment);
    await first.restart('fast');
    const url = await first.createDatabase();
    const key = { CHANCERY_KEY: masterKey };
    const data = temporaryFolder(t);
    const made = await runMain(
      t,
      ['superuser', 'upsert', superuser.email, superuser.password, '--data', data, '--postgres', url],
      key,
    );
    assert.equal(made.code, 0, made.stderr);
    const service = await CopiedService.start(t, data, { environment: { ...key, CHANCERY_POSTGRES: url } });
    await service.setUp();
    const writers = new Writers(service, ['ann', 'bob']);
    await writers.waitFor(20);
    typeBlock('base-backup.sh', environment);
    await writers.waitFor(40);
    // What is written from here on is sent by the restored service.
    service.receiver.mode = { kind: 'never answers' };
    await writers.waitFor(60);
    const acknowledged = new Map(writers.acknowledged);
    const target = await timeOf(first);
    // Whatever is committed from here on has a later time.
    await eventually('a later time', async () => (await timeOf(first)) > target);
    // One more of each writer may be on its way.
    const before = new Map(writers.acknowledged);
    await writers.waitFor(Math.max(...before.values()) + 10);
    await writers.end();
    assert.equal((await service.ask('/api/collections/posts/truncate', { method: 'DELETE' })).status, 204);
    const [last] = await ask(first.url, 'SELECT pg_walfile_name(pg_switch_wal()) AS name');
    await eventually(
      'the archive has all',
      async () => existsSync(join(places.ARCHIVE, String(last?.['name']))),
      30_000,
    );
    await service.kill();
    await first.kill();

    const backup = join(places.BACKUPS, readdirSync(places.BACKUPS)[0] ?? '');
    const restored = await startTestPostgres({
      ...options,
      fill: (PGDATA) =>
        void typeBlock('restore-postgres.sh', { ...places, BACKUP: backup, PGDATA, TARGET: target }),
    });
    atEnd(t, () => restored.stop());
    await eventually('the end of the recovery', async () => {
      const [row] = await ask(restored.url, 'SELECT pg_is_in_recovery() AS is');
      return row?.['is'] === false;
    });
    const place = new URL(restored.url);
    place.pathname = new URL(url).pathname;
    const again = await CopiedService.start(t, temporaryFolder(t), {
      environment: { ...key, CHANCERY_POSTGRES: place.href },
      receiver: service.receiver,
    });
    for (const [writer, count] of acknowledged) {
      const numbers = await again.numbersOf(writer);
      assertPrefix(numbers, count);
      assert.ok(
        numbers.length <= (before.get(writer) ?? 0) + 1,
        `${numbers.length} of ${before.get(writer)}`,
      );
    }
    service.receiver.mode = { kind: 'ok' };
    await again.webhooksGoOn();
  },
);

/** How the clients of PostgreSQL reach a server. */
function clientOf({ url }: TestPostgres, folder: string): Readonly<Record<string, string>> {
  const { hostname, port, username } = new URL(url);
  const path = `${folder}:${process.env['PATH'] ?? ''}`;
  return { PGHOST: hostname, PGPORT: port, PGUSER: username, PGDATABASE: 'postgres', PATH: path };
}

async function timeOf({ url }: TestPostgres): Promise<string> {
  const [row] = await ask(
    url,
    "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US+00') AS now",
  );
  return String(row?.['now']);
}
