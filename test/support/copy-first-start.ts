import { cpSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { onInstance, openDataDirectory } from '../../src/open-data-directory.ts';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { newId } from '../../src/base/ids.ts';
import { ask } from './postgres.ts';
import { quickPasswords } from './quick-passwords.ts';
import { temporaryPlace } from './temporary-folder.ts';
import { databaseOf, testConfig, testEngine } from './test-config.ts';

/** The superuser of every test service. */
export const superuser = { email: 'root@example.com', password: 'correct horse' } as const;

/**
 * Fills an empty directory, or the database that stands for it, with what the product creates at a first start, and a superuser.
 * Migrations and a password hash take longer than most tests, so this is made once per process and copied; with a clock that a test
 * moves, once for its time. The instance of each copy gets an id of its own, because the product counts requests by it and tests must
 * not share counts. Secrets that were sealed under the old id cannot be opened under the new one.
 */
export async function copyFirstStart(data: string, clock: Clock = systemClock): Promise<void> {
  const time = clock === systemClock ? 'now' : clock.now();
  const original = originals.get(time) ?? makeOriginal(clock);
  originals.set(time, original);
  const from = await original;
  const ids: Renaming = { from: from.id, to: newId() };
  if (testEngine === 'postgres') {
    const url = await databaseOf(data, await databaseOf(from.data));
    await renameOnPostgres(url, ids);
  } else {
    cpSync(from.data, data, { recursive: true });
    renameOnSqlite(data, ids);
  }
}

interface Original {
  readonly data: string;
  /** Id of its instance. */
  readonly id: string;
}

/** Originals by the time at which they were made. */
const originals = new Map<number | 'now', Promise<Original>>();

async function makeOriginal(clock: Clock): Promise<Original> {
  const data = mkdtempSync(join(temporaryPlace, 'chancery-original-'));
  process.once('exit', () => rmSync(data, { recursive: true, force: true }));
  const logger = { debug: silent, info: silent, warn: silent, error: silent };
  const opened = await openDataDirectory(await testConfig(data), {
    clock,
    logger,
    passwords: quickPasswords,
  });
  try {
    const entry = opened.directory.findBySlug('default');
    if (entry === undefined) throw new Error('expected the instance that is there from the start');
    await onInstance(opened, entry, (instance) =>
      upsertSuperuser(instance, superuser.email, superuser.password),
    );
    return { data, id: entry.id };
  } finally {
    await opened.stop();
  }
}

function silent(): void {}

interface Renaming {
  readonly from: string;
  readonly to: string;
}

function renameOnSqlite(data: string, { from, to }: Renaming): void {
  renameSync(join(data, 'instances', from), join(data, 'instances', to));
  const file = new DatabaseSync(join(data, 'instances', to, 'data.db'));
  // By a secret that cannot be opened, the product knows a file that is in the wrong place.
  file.exec(`DELETE FROM "$secret" WHERE record = ''`);
  file.close();
  const control = new DatabaseSync(join(data, 'control.db'));
  control.prepare('UPDATE "$instance" SET id = ?').run(to);
  control.close();
}

/** Renames the instance in every table that has an `instance_id`, now or in future. */
async function renameOnPostgres(url: string, { from, to }: Renaming): Promise<void> {
  await ask(
    url,
    `DO $$ DECLARE held regclass; BEGIN
      FOR held IN SELECT attrelid::regclass FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE attname = 'instance_id' AND relkind = 'r' AND relnamespace = 'chancery'::regnamespace
      LOOP EXECUTE format('UPDATE %s SET instance_id = %L', held, '${to}'); END LOOP;
      UPDATE chancery.instance SET id = '${to}';
      ALTER SCHEMA i_${from} RENAME TO i_${to};
    END $$`,
  );
}
