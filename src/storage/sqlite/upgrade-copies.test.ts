import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { sql } from '../../sql/sql.ts';
import { openSqlite } from './sqlite-database.ts';
import { UpgradeCopies } from './upgrade-copies.ts';

/** A version that knows more than the files of `makeDirectory` have. */
const newer = { control: 2, instance: 4 };

interface Directory {
  readonly path: string;
  readonly control: string;
  /** The files of two instances that are older, and of one that is not. */
  readonly instances: readonly [older: string, other: string, current: string];
}

function makeDirectory(t: TestContext): Directory {
  const path = temporaryFolder(t);
  const files = ['a', 'b', 'c'].map((id) => join(path, 'instances', id, 'data.db'));
  const [a = '', b = '', c = ''] = files;
  const control = join(path, 'control.db');
  makeFile(control, 1);
  for (const [file, steps] of [
    [a, 3],
    [b, 2],
    [c, newer.instance],
  ] as const)
    makeFile(file, steps);
  return { path, control, instances: [a, b, c] };
}

/** Makes a file as migrations leave it, with a row of its owner. */
function makeFile(path: string, steps: number): void {
  mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  database.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE "$migration" (number INTEGER PRIMARY KEY, name TEXT NOT NULL, admits INTEGER);
    CREATE TABLE "$setting" (name TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE post (title TEXT); INSERT INTO post VALUES ('Hello')`);
  for (let number = 1; number <= steps; number += 1)
    database.prepare(`INSERT INTO "$migration" VALUES (?, 'step', ?)`).run(number, number);
  database.close();
}

/** What a copy holds: how many steps, and whose rows. */
function readCopy(path: string): { readonly steps: unknown; readonly titles: readonly unknown[] } {
  const database = new DatabaseSync(path);
  const steps = database.prepare('SELECT count(*) AS steps FROM "$migration"').get()?.['steps'];
  const titles = database
    .prepare('SELECT title FROM post ORDER BY rowid')
    .all()
    .map(({ title }) => title);
  database.close();
  return { steps, titles };
}

/** The names of all copies in a directory, finished or not. */
function copiesIn(path: string): readonly string[] {
  const names = readdirSync(path, { recursive: true }).map(String);
  return names.filter((name) => name.includes('-schema-') && !/-(?:wal|shm)$/.test(name)).toSorted();
}

function makeCopies(copiesMax = 1): UpgradeCopies {
  return new UpgradeCopies({ copiesMax, steps: newer });
}

test('a file is copied with what is still in its log, and nothing else is changed', async (t) => {
  const directory = makeDirectory(t);
  const { instances, control } = directory;
  // Of this change the file itself knows nothing yet.
  const open = new DatabaseSync(instances[0]);
  open.exec("INSERT INTO post VALUES ('still in the log')");
  chmodSync(instances[1], 0o600);
  const before = [control, ...instances].map((file) => readFileSync(file));
  const copies = makeCopies();
  for (const [file, steps] of [
    [control, 1],
    [instances[0], 3],
    [instances[1], 2],
  ] as const)
    await copies.copy(file, steps);
  assert.deepEqual(copiesIn(directory.path), [
    'control.db-schema-1',
    'instances/a/data.db-schema-3',
    'instances/b/data.db-schema-2',
  ]);
  assert.deepEqual(
    [control, ...instances].map((file) => readFileSync(file)),
    before,
  );
  assert.deepEqual(readCopy(`${instances[0]}-schema-3`), { steps: 3, titles: ['Hello', 'still in the log'] });
  assert.deepEqual(readCopy(`${instances[1]}-schema-2`), { steps: 2, titles: ['Hello'] });
  assert.equal(statSync(`${instances[1]}-schema-2`).mode & 0o777, 0o600);
  open.close();
});

test('a failed copy leaves nothing, and reports the remedy', async (t) => {
  const directory = makeDirectory(t);
  const [, second] = directory.instances;
  // It would have to be made in a folder that does not exist.
  symlinkSync(join(directory.path, 'no/such/folder'), `${second}-schema-2-${process.pid}.new`);
  await assert.rejects(makeCopies().copy(second, 2), {
    explanation:
      `${second} is of an older version, and stays as it is, as the copy that is kept before an upgrade cannot be made: ` +
      'unable to open database file. Make room, or start with --keep-upgrade-copies 0 if you have a backup.',
  });
  assert.deepEqual(copiesIn(directory.path), []);
});

test('a file that finds no room for its copy stays as it is, and another one is copied', async (t) => {
  const directory = makeDirectory(t);
  const [large, other] = directory.instances;
  const before = readFileSync(large);
  writeFileSync(`${large}-wal`, '');
  // Takes no room itself, and holds nothing that SQLite would read.
  truncateSync(`${large}-wal`, 2 ** 50);
  const copies = makeCopies();
  await assert.rejects(copies.copy(large, 3), {
    explanation:
      /data\.db is of an older version, and stays as it is, .*: 1125899906\.\d MB are needed and 67\.1 MB beside them, and \d+\.\d MB are free\. Make room/,
  });
  await copies.copy(other, 2);
  assert.deepEqual(copiesIn(directory.path), ['instances/b/data.db-schema-2']);
  assert.deepEqual(readFileSync(large), before);
  rmSync(`${large}-wal`);
  await copies.copy(large, 3);
  assert.deepEqual(copiesIn(directory.path), [
    'instances/a/data.db-schema-3',
    'instances/b/data.db-schema-2',
  ]);
});

test('a version lists all instances once, to open each', async (t) => {
  const directory = makeDirectory(t);
  const control = openSqlite({ path: directory.control });
  t.after(() => control.stop());
  await control.write(async (tx) => {
    await tx.run(sql`CREATE TABLE "$instance" (id TEXT)`);
    await tx.run(sql`CREATE TABLE "$upgrade" (instance TEXT PRIMARY KEY)`);
    await tx.run(sql`INSERT INTO "$instance" VALUES ('a'), ('b')`);
  });
  const listed = async (): Promise<readonly unknown[]> =>
    (await control.tuples(sql`SELECT instance FROM "$upgrade" ORDER BY instance`)).flat();
  await makeCopies().beginUpgrade(control);
  assert.deepEqual(await listed(), ['a', 'b']);
  await control.write((tx) => tx.run(sql`DELETE FROM "$upgrade" WHERE instance = 'a'`));
  await makeCopies().beginUpgrade(control);
  assert.deepEqual(await listed(), ['b']);
  const later = new UpgradeCopies({
    copiesMax: 1,
    steps: { ...newer, instance: newer.instance + 1 },
  });
  await later.beginUpgrade(control);
  assert.deepEqual(await listed(), ['a', 'b']);
});

test('with --keep-upgrade-copies 0 no copy is made', async (t) => {
  const directory = makeDirectory(t);
  const copies = makeCopies(0);
  await copies.copy(directory.instances[0], 3);
  assert.deepEqual(copiesIn(directory.path), []);
});

test('the newest copies of a file are kept, whatever their schema', async (t) => {
  const directory = makeDirectory(t);
  const [file] = directory.instances;
  for (const [steps, copiesMax, kept] of [
    [3, 2, ['3']],
    [1, 2, ['1', '3']],
    [2, 2, ['1', '2']],
    [1, 1, ['1']],
  ] as const) {
    rmSync(file);
    makeFile(file, steps);
    await makeCopies(copiesMax).copy(file, steps);
    assert.deepEqual(
      copiesIn(directory.path),
      kept.map((number) => `instances/a/data.db-schema-${number}`),
    );
  }
});

test('what a process has left unfinished that died is removed, and nothing of one that lives', async (t) => {
  const directory = makeDirectory(t);
  const [file] = directory.instances;
  const dead = spawnSync(process.execPath, ['--version']).pid;
  const parent = process.ppid;
  for (const pid of [dead, parent]) writeFileSync(`${file}-schema-3-${pid}.new`, '');
  writeFileSync(`${file}-schema-3-${dead}.new-journal`, '');
  await makeCopies().copy(file, 3);
  assert.deepEqual(copiesIn(directory.path), [
    'instances/a/data.db-schema-3',
    `instances/a/data.db-schema-3-${parent}.new`,
  ]);
});

test('a file that another process has upgraded meanwhile is no copy of what it was', async (t) => {
  const directory = makeDirectory(t);
  const [file] = directory.instances;
  const copies = makeCopies();
  // It had two steps when this process looked.
  await copies.copy(file, 2);
  assert.deepEqual(copiesIn(directory.path), []);
});
