import { access, constants, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Watch } from '../base/watch.ts';
import type { DataHome } from './data-home.ts';
import type { Database } from './database.ts';
import { migrate, type Migration } from './migrate.ts';
import { controlMigrations } from './migrations/control-migrations.ts';
import { instanceMigrations } from './migrations/instance-migrations.ts';
import { logMigrations } from './migrations/log-migrations.ts';
import { SqliteDefinitions } from './sqlite-definitions.ts';
import { openSqlite, type SqliteOptions } from './sqlite.ts';

/** Reads may rest on definitions this much older than the newest, which a command has changed; writes never do. */
const watchIntervalMs = 250;

/** A directory: `control.db`, and for each instance `instances/<id>/data.db` and `logs.db` beside it. */
export async function openSqliteHome(
  directory: string,
  options: { readonly queryTimeoutMs: number },
): Promise<DataHome> {
  const control = openSqlite({ path: join(directory, 'control.db') });
  await migrate(control, controlMigrations);
  const opened = new Map<string, Opened>();
  let watch: Watch | undefined;
  return {
    control,
    background: control,
    openInstance: async (instanceId, memory) => {
      const definitions = new SqliteDefinitions(memory);
      const database = await openInstanceFile(join(directory, 'instances', instanceId), {
        ...options,
        name: 'data.db',
        migrations: instanceMigrations,
        definitions,
      });
      opened.set(instanceId, { definitions, database });
      return database;
    },
    // The log of the file itself is not synced with each commit: no answer rests on what is in here.
    openLogs: (instanceId) =>
      openInstanceFile(join(directory, 'instances', instanceId), {
        ...options,
        name: 'logs.db',
        migrations: logMigrations,
        synchronous: 'NORMAL',
      }),
    watch: (onError) => {
      const look = async (): Promise<void> => {
        for (const [instanceId, { definitions, database }] of opened) {
          if (definitions.hasEnded) opened.delete(instanceId);
          else await definitions.refresh(database);
        }
      };
      watch = new Watch({ intervalMs: watchIntervalMs, look, onError });
    },
    isReachable: () => true,
    refresh: async (instanceId) => {
      const found = opened.get(instanceId);
      await found?.definitions.refresh(found.database);
    },
    stop: async () => {
      await watch?.stop();
      await control.stop();
    },
  };
}

interface Opened {
  readonly definitions: SqliteDefinitions;
  readonly database: Database;
}

/** Makes the directory if it is not there; throws when it cannot be written. */
export async function prepareDirectory(path: string): Promise<void> {
  // For nobody else on this machine: it holds everybody's records.
  await mkdir(join(path, 'instances'), { recursive: true, mode: 0o700 });
  await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  await access(join(path, 'instances'), constants.W_OK);
}

interface InstanceFile extends Omit<SqliteOptions, 'path'> {
  readonly name: string;
  readonly migrations: readonly Migration[];
}

async function openInstanceFile(
  folder: string,
  { name, migrations, ...options }: InstanceFile,
): Promise<Database> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const database = openSqlite({ path: join(folder, name), ...options });
  try {
    await migrate(database, migrations);
    // Where versions of definitions stand is made by a migration.
    options.definitions?.start();
    return database;
  } catch (error) {
    await database.stop();
    throw error;
  }
}
