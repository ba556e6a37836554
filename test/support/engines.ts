import { join } from 'node:path';
import { describe, type TestContext } from 'node:test';
import type { Database, Engine } from '../../src/storage/database.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts';
import { openPostgresDatabase } from './postgres-database.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** An empty database, or another handle of the one that `same` is of; stopped, and gone, when the test ends. */
export type OpenDatabase = (t: TestContext, same?: Database) => Promise<Database>;

/** Declares the same tests for every engine. */
export function describeEngines(name: string, declare: (open: OpenDatabase, engine: Engine) => void): void {
  for (const [engine, open] of engines) describe(`${name} (${engine})`, () => declare(open, engine));
}

/** The file of a database that {@link openSqliteFile} has opened. */
export function fileOf(database: Database): string {
  const file = files.get(database);
  if (file === undefined) throw new Error('the database was not opened here');
  return file;
}

export const openSqliteFile: OpenDatabase = async (t, same) => {
  const file = same === undefined ? join(temporaryFolder(t), 'data.db') : fileOf(same);
  const database = openSqlite({ path: file });
  files.set(database, file);
  // A test may have stopped it itself, and a stopped one cannot be stopped again.
  t.after(() => database.stop().catch(() => undefined));
  return database;
};

const files = new WeakMap<Database, string>();

/** Ten thousand works that wait for a slow machine are not to be refused for its slowness. */
const patienceMs = 60_000;

/** Another handle is one of another pool, as another process would have it. */
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
