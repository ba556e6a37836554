import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openDataDirectory } from '../src/open-data-directory.ts';
import { readConfig } from '../src/config/config.ts';
import { importPocketbase } from '../src/transfer/pocketbase/import-pocketbase.ts';
import { compare, type Measurement } from './support/compare.ts';
import { type BenchOptions, engineOf, warmedUpOnce } from './support/options.ts';
import { createDatabase } from './support/service.ts';

const floor = 0.3;
const key = '0056e30c23e3d6d1d258f141e4d8b44df26abf8475fec988b58013ec98633d94';

/**
 * How long does a PocketBase directory take, against copying the same rows from file to file with `node:sqlite` and nothing else?
 * Both read the source in order, write into an empty database in one transaction, and are done when it is synced.
 */
export async function importRows(options: BenchOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'chancery-bench-'));
  const source = join(folder, 'pb_data');
  makeSource(source, options.rows);
  const run = { folder, source, rows: options.rows, runs: 0, postgres: options.postgres };
  await compare(
    {
      what: 'import of PocketBase',
      engine: engineOf(options),
      rows: options.rows,
      floor,
      ours: () => importOnce(run),
      ceiling: async () => copyOnce(run),
    },
    warmedUpOnce(options),
  );
  rmSync(folder, { recursive: true, force: true });
}

interface Run {
  readonly folder: string;
  readonly source: string;
  readonly rows: number;
  readonly postgres: string | undefined;
  runs: number;
}

/** Opening an empty instance is no part of it. */
async function importOnce(run: Run): Promise<Measurement> {
  run.runs += 1;
  const data = join(run.folder, `data-${run.runs}`);
  const postgres = run.postgres === undefined ? {} : { postgres: await createDatabase(run.postgres) };
  const config = readConfig({ data, 'log-level': 'error', ...postgres }, { CHANCERY_KEY: key });
  const opened = await openDataDirectory(config, {});
  const [entry] = opened.directory.all();
  if (entry === undefined) throw new Error('There is no instance.');
  const loan = await opened.instances.borrow(entry);
  const startedMs = performance.now();
  const { collections } = await importPocketbase({
    instance: loan.instance,
    control: opened.home.control,
    directory: run.source,
    storage: join(data, 'storage'),
    isDryRun: false,
    rotateTokens: false,
    encryptionKey: undefined,
    onProgress: () => undefined,
  });
  const measured = toMeasurement(run.rows, performance.now() - startedMs);
  if (collections[0]?.records !== run.rows) throw new Error('Not every row was imported.');
  loan.release();
  await opened.stop();
  rmSync(data, { recursive: true, force: true });
  return measured;
}

function copyOnce({ folder, source, rows }: Run): Measurement {
  const file = join(folder, 'copy.db');
  const from = new DatabaseSync(join(source, 'data.db'), { readOnly: true });
  const to = new DatabaseSync(file);
  to.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  const startedMs = performance.now();
  to.exec(`BEGIN; ${table}`);
  const read = from.prepare('SELECT * FROM posts ORDER BY rowid');
  read.setReturnArrays(true);
  const insert = to.prepare(`INSERT INTO posts VALUES (${columns.map(() => '?').join(', ')})`);
  // The mode set above makes rows arrays; the types of node:sqlite do not follow it.
  for (const row of read.iterate() as Iterable<unknown> as Iterable<(string | number)[]>) insert.run(...row);
  to.exec('COMMIT');
  const measured = toMeasurement(rows, performance.now() - startedMs);
  to.close();
  from.close();
  for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true });
  return measured;
}

function toMeasurement(rows: number, ms: number): Measurement {
  return { perSecond: (rows / ms) * 1_000, p50Ms: ms, p99Ms: ms, processorUs: undefined };
}

const columns = ['id', 'title', 'body', 'views', 'isDraft', 'author', 'tags', 'data', 'created', 'updated'];
const table = `CREATE TABLE posts (id TEXT PRIMARY KEY NOT NULL, title TEXT DEFAULT '' NOT NULL, body TEXT DEFAULT '' NOT NULL,
  views NUMERIC DEFAULT 0 NOT NULL, isDraft BOOLEAN DEFAULT FALSE NOT NULL, author TEXT DEFAULT '' NOT NULL,
  tags JSON DEFAULT '[]' NOT NULL, data JSON DEFAULT NULL, created TEXT DEFAULT '' NOT NULL, updated TEXT DEFAULT '' NOT NULL)`;

const fields = [
  {
    id: 'text3208210256',
    name: 'id',
    type: 'text',
    primaryKey: true,
    required: true,
    system: true,
    min: 15,
    max: 15,
    pattern: '^[a-z0-9]+$',
  },
  { id: 'title', name: 'title', type: 'text' },
  { id: 'body', name: 'body', type: 'editor' },
  { id: 'views', name: 'views', type: 'number' },
  { id: 'draft', name: 'isDraft', type: 'bool' },
  { id: 'author', name: 'author', type: 'text' },
  { id: 'tags', name: 'tags', type: 'select', values: ['a', 'b', 'c'], maxSelect: 3 },
  { id: 'data', name: 'data', type: 'json' },
  { id: 'created', name: 'created', type: 'autodate', onCreate: true },
  { id: 'updated', name: 'updated', type: 'autodate', onCreate: true, onUpdate: true },
];

/** Ids are random, as they are everywhere; everything else is what a blog has. */
function makeSource(folder: string, rows: number): void {
  mkdirSync(folder);
  const database = new DatabaseSync(join(folder, 'data.db'));
  database.exec(`PRAGMA journal_mode = WAL; BEGIN; ${table};
    CREATE TABLE _collections (id TEXT, system BOOLEAN, type TEXT, name TEXT, fields JSON, indexes JSON, listRule TEXT, viewRule TEXT,
      createRule TEXT, updateRule TEXT, deleteRule TEXT, options JSON, created TEXT, updated TEXT)`);
  database
    .prepare(
      `INSERT INTO _collections (id, type, name, fields, indexes, options) VALUES ('pbc_1', 'base', 'posts', ?, '[]', '{}')`,
    )
    .run(JSON.stringify(fields));
  const insert = database.prepare(`INSERT INTO posts VALUES (${columns.map(() => '?').join(', ')})`);
  const letters = '0123456789abcdefghijklmnopqrstuvwxyz';
  const random = (): string =>
    Array.from({ length: 15 }, () => letters[Math.floor(Math.random() * letters.length)]).join('');
  for (let row = 0; row < rows; row += 1) {
    const time = new Date(1_700_000_000_000 + row * 1_000).toISOString().replace('T', ' ');
    const body = `<p>${'Some words of a text that somebody wrote. '.repeat(5)}</p>`;
    const data = `{"n":${row},"list":[1,2,3]}`;
    insert.run(random(), `Title ${row}`, body, row, row % 2, random(), '["a","b"]', data, time, time);
  }
  database.exec('COMMIT');
  database.close();
}
