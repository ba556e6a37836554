import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { identifier } from '../../sql/sql.ts';
import { ForeignSqlite } from './foreign-sqlite.ts';

test('rows come in the order in which they were made, whatever their keys', async (t) => {
  const file = make(
    t,
    `CREATE TABLE t (id TEXT PRIMARY KEY, n); INSERT INTO t VALUES ('z', 1), ('a', 2), ('m', 3)`,
  );
  const foreign = await open(t, file);
  assert.deepEqual(foreign.columnsOf('t'), ['id', 'n']);
  assert.deepEqual(
    [...foreign.rows('t', ['n', 'id'])],
    [
      [1n, 'z'],
      [2n, 'a'],
      [3n, 'm'],
    ],
  );
  assert.equal(foreign.count('t'), 3);
});

test('a table without row numbers is read all the same', async (t) => {
  const file = make(
    t,
    `CREATE TABLE t (id TEXT PRIMARY KEY, n) WITHOUT ROWID; INSERT INTO t VALUES ('a', 1.5)`,
  );
  const foreign = await open(t, file);
  assert.deepEqual([...foreign.rows('t', ['id', 'n'])], [['a', 1.5]]);
});

test('names are quoted, and integers beyond 2^53 come whole', async (t) => {
  const file = make(
    t,
    `CREATE TABLE "a""b; --" ("x"" y" INTEGER); INSERT INTO "a""b; --" VALUES (9007199254740993)`,
  );
  const foreign = await open(t, file);
  assert.deepEqual([...foreign.rows('a"b; --', ['x" y'])], [[9_007_199_254_740_993n]]);
});

test('computed columns are neither listed nor run, even on request', async (t) => {
  const file = make(
    t,
    `CREATE TABLE t (id TEXT, size AS (length(id)), big AS (hex(id)) STORED); INSERT INTO t VALUES ('a');
     CREATE VIEW v AS SELECT id FROM t; CREATE VIRTUAL TABLE f USING fts5(id)`,
  );
  const foreign = await open(t, file);
  assert.deepEqual(foreign.columnsOf('t'), ['id']);
  for (const table of ['v', 'f', 'pragma_database_list']) {
    assert.equal(foreign.columnsOf(table), undefined, table);
    assert.throws(() => foreign.count(table), /has no table/, table);
    assert.throws(() => foreign.rows(table, ['id']), /has no table/, table);
    assert.throws(() => equalRows(foreign, table, 'id'), /has no table/, table);
  }
  for (const column of ['size', 'big', 'rowid'])
    for (const ask of [() => foreign.rows('t', [column]), () => equalRows(foreign, 't', column)])
      assert.throws(ask, /has no "\w+" in its table "t"/, column);
});

test('a value that would take too much memory is an error', async (t) => {
  const file = make(t, `CREATE TABLE t (id TEXT); INSERT INTO t VALUES (hex(zeroblob(1000000)))`);
  const foreign = await open(t, file, 1_000_000);
  assert.throws(() => [...foreign.rows('t', ['id'])], /cannot be read: .*too big/);
  assert.equal([...(await open(t, file)).rows('t', ['id'])].length, 1);
});

test('a file with a log is read as a copy without a name, and nothing is left beside it', async (t) => {
  const file = make(t, 'PRAGMA journal_mode = WAL; CREATE TABLE t (id TEXT)');
  const writer = new DatabaseSync(file);
  t.after(() => writer.isOpen && writer.close());
  writer.exec(`INSERT INTO t VALUES ('in the log')`);
  const before = readdirSync(join(file, '..'));
  useTemporaryFolder(t);
  const foreign = await open(t, file);
  assert.deepEqual(readdirSync(tmpdir()), []);
  writer.exec(`INSERT INTO t VALUES ('later')`);
  assert.deepEqual([...foreign.rows('t', ['id'])], [['in the log']]);
  foreign.requireUnchanged();
  assert.deepEqual(readdirSync(join(file, '..')), before);
});

test('an incomplete copy is removed when a signal ends the process', async (t) => {
  const file = make(t, 'PRAGMA journal_mode = WAL; CREATE TABLE t (id TEXT)');
  const writer = new DatabaseSync(file);
  t.after(() => writer.close());
  writer.exec(`INSERT INTO t VALUES ('in the log')`);
  useTemporaryFolder(t);
  const before = process.listenerCount('SIGTERM');
  // Hears the signal below, and instead of an end of this process, the one that is sent for it.
  const heard = new EventEmitter();
  const hear = (): boolean => heard.emit('signal');
  process.on('SIGTERM', hear);
  t.after(() => process.off('SIGTERM', hear));
  const opening = assert.rejects(ForeignSqlite.open(file), { code: 'ENOENT' });
  while (process.listenerCount('SIGTERM') === before + 1) await setImmediate();
  process.emit('SIGTERM', 'SIGTERM');
  const ended = once(heard, 'signal');
  assert.deepEqual(readdirSync(tmpdir()), []);
  await Promise.all([ended, opening]);
  assert.equal(process.listenerCount('SIGTERM'), before + 1);
});

test('a file without a log is read in its place, and a write into it is noticed', async (t) => {
  const file = make(t, 'PRAGMA journal_mode = WAL; CREATE TABLE t (id TEXT)');
  const foreign = await open(t, file);
  assert.equal(foreign.count('t'), 0);
  assert.deepEqual(readdirSync(join(file, '..')), ['data.db']);
  foreign.requireUnchanged();
  const writer = new DatabaseSync(file);
  writer.exec(`INSERT INTO t VALUES ('x')`);
  writer.close();
  assert.throws(() => foreign.requireUnchanged(), /is being written to/);
});

function equalRows(foreign: ForeignSqlite, table: string, column: string): Iterable<unknown> {
  return foreign.equalRows(table, { columns: [column], keys: [identifier(column)], where: [] });
}

function useTemporaryFolder(t: TestContext): void {
  const folder = temporaryFolder(t);
  const { TMPDIR } = process.env;
  t.after(() => (TMPDIR === undefined ? delete process.env['TMPDIR'] : (process.env['TMPDIR'] = TMPDIR)));
  process.env['TMPDIR'] = folder;
}

function make(t: TestContext, statements: string): string {
  const file = join(temporaryFolder(t), 'data.db');
  const database = new DatabaseSync(file);
  database.exec(statements);
  database.close();
  return file;
}

async function open(t: TestContext, file: string, valueBytesMax?: number): Promise<ForeignSqlite> {
  const foreign = await ForeignSqlite.open(file, valueBytesMax === undefined ? {} : { valueBytesMax });
  t.after(() => foreign.close());
  return foreign;
}
