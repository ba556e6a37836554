import { join } from 'node:path';
import { describe, type TestContext } from 'node:test';
import type { Database, Engine } from '../../src/storage/database.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite-database.ts';
import { atEnd } from './at-end.ts';
import { openPostgresDatabase } from './postgres-database.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Opens an empty database, or another handle of the database of `same`; stopped and removed when the test ends. */
export type OpenDatabase = (t: TestContext, same?: Database) => Promise<Database>;

/** Declares the same tests for every engine. */
export function describeEngines(name: string, declare: (open: OpenDatabase, engine: Engine) => void): void {
  for (const [engine, open] of engines) describe(`${name} (${engine})`, () => declare(open, engine));
}

/** Returns the file of a database that {@link openSqliteFile} has opened. */
export function fileOf(database: Database): string {
  const file = files.get(database);
  if (file === undefined) throw new Error('the database was not opened here');
  return file;
}

/** Longer than a group of the tests takes on a slow machine: they count what its works share. */
const sharedGroupMs = 250;

export const openSqliteFile: OpenDatabase = async (t, same) => {
  const file = same === undefined ? join(temporaryFolder(t), 'data.db') : fileOf(same);
  const database = openSqlite({ path: file, groupMs: sharedGroupMs });
  files.set(database, file);
  // The test may have stopped the database already, and a second stop fails.
  atEnd(t, () => database.stop().catch(() => undefined));
  return database;
};

const files = new WeakMap<Database, string>();

/** How long a write may wait: ten thousand queued ones must not be refused because the machine is slow. */
const patienceMs = 60_000;

/** Opens a schema. Another handle has a pool of its own, as another process would. */
const openPostgresSchema: OpenDatabase = async (t, same) => {
  const url = same === undefined ? undefined : urls.get(same);
  const opened = await openPostgresDatabase(t, url === undefined ? {} : { url });
  const database = opened.open({ waitMsMax: patienceMs });
  urls.set(database, opened.url);
  return database;
};

const urls = new WeakMap<Database, string>();

const engines: readonly (readonly [Engine, OpenDatabase])[] = [
  ['sqlite', openSqliteFile],
  ['postgres', openPostgresSchema],
];
