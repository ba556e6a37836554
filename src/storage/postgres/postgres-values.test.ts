import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openSqliteFile } from '../../../test/support/engines.ts';
import { openPostgresDatabase } from '../../../test/support/postgres-database.ts';
import { AppError } from '../../base/errors.ts';
import { sql, type Sql, type SqlValue } from '../../sql/sql.ts';
import type { Database, Reader } from '../database.ts';
import { UniqueViolation } from '../engine-errors.ts';

test('values come back as they do from SQLite', async (t) => {
  const { database } = await openPostgresDatabase(t);
  const sqlite = await openSqliteFile(t);
  const values: readonly SqlValue[][] = [
    ['', 0, 0, 0, new Uint8Array()],
    ['"\'\\ \u{1F600} e\u0301 \u4E2D\n\t\u007F', 2 ** 53 - 1, 1e308, 1, new Uint8Array([0, 255, 63, 92, 39])],
    ['NULL', -(2 ** 53) + 1, 5e-324, 0, new Uint8Array(70_000).fill(7)],
    ['null', -0, -0, 1, Buffer.from('buffer')],
    ['a?b', 1, 0.1 + 0.2, 1, new Uint8Array([1, 2, 3, 4]).subarray(1, 3)],
    ['x', 2n ** 40n, 1e21, 0, new Uint8Array(1)],
    [null, null, null, null, null],
  ];
  const [theirs, ours] = [sql`${database.names.collectionTable('value')}`, sql`value`];
  await database.write((tx) =>
    tx.run(
      sql`CREATE TABLE ${theirs} (n integer GENERATED ALWAYS AS IDENTITY, t text, i bigint, d double precision, b boolean, y bytea)`,
    ),
  );
  await sqlite.write((tx) =>
    tx.run(
      sql`CREATE TABLE value (n INTEGER PRIMARY KEY, t TEXT, i INTEGER, d REAL, b INTEGER, y BLOB) STRICT`,
    ),
  );
  for (const [on, table] of [
    [database, theirs],
    [sqlite, ours],
  ] as const) {
    for (const [text, integer, double, bool, bytes] of values) {
      const list = sql`${text ?? null}, ${integer ?? null}, ${double ?? null}, ${bool ?? null}, ${bytes ?? null}`;
      await on.write((tx) => tx.run(sql`INSERT INTO ${table} (t, i, d, b, y) VALUES (${list})`));
    }
  }
  const read = (on: Reader, table: typeof ours): Promise<unknown> =>
    on.tuples(sql`SELECT t, i, d, b, y FROM ${table} ORDER BY n`);
  const rows = await database.all(
    sql`SELECT count(*) AS count, sum(i) AS sum, avg(d) AS avg FROM ${theirs} WHERE d = 0`,
  );
  assert.deepEqual({ ...rows[0] }, { count: 2, sum: 0, avg: 0 });
  for (let again = 0; again < 3; again += 1)
    assert.deepEqual(await read(database, theirs), await read(sqlite, ours));
});

test('bytes have a buffer of their own, so that posting them to a thread copies no others', async (t) => {
  const { database } = await openPostgresDatabase(t);
  const [row] = await database.tuples(sql`SELECT CAST(${new Uint8Array([1, 2, 3])} AS bytea)`);
  assert.ok(row?.[0] instanceof Uint8Array);
  assert.equal(row[0].buffer.byteLength, 3);
});

test('rows that are inserted many at once hold what SQLite holds, in their order', async (t) => {
  const { database } = await openPostgresDatabase(t);
  const sqlite = await openSqliteFile(t);
  const rows = [
    ['', 0, 0],
    [null, null, null],
    [String.raw`\N`, 1, 2 ** 53 - 1],
    [String.raw`\.`, 0, 5e-324],
    ['a\tb\nc\rd\r\ne', 1, -1e308],
    ['\\\t\\\n\\', 0, 0.1 + 0.2],
    ['"\'\\ \u{1F600} e\u0301 \u4E2D \u007F\b\f\v\u0001', 1, 1e21],
    ['x'.repeat(200_000), 0, 1],
  ] as const;
  const read = async (on: Database, types: Sql): Promise<unknown> => {
    const table = on.names.collectionTable('value');
    await on.write((tx) => tx.run(sql`CREATE TABLE ${table} (${types}, b smallint, d double precision)`));
    await on.write((tx) => tx.insertRows(sql`${table} (t, b, d)`, rows));
    return await on.tuples(sql`SELECT t, b, d FROM ${table} ORDER BY n`);
  };
  const theirs = await read(database, sql`n integer GENERATED ALWAYS AS IDENTITY, t text`);
  assert.deepEqual(theirs, rows);
  assert.deepEqual(await read(sqlite, sql`n INTEGER PRIMARY KEY, t TEXT`), theirs);
});

test("what a client sent and cannot be stored is the client's error", async (t) => {
  const database = await openNotes(t);
  const note = database.names.collectionTable('note');
  const refused = (error: unknown): boolean => error instanceof AppError && error.code === 'bad_request';
  await assert.rejects(add(database, 'a\u0000b'), refused);
  await assert.rejects(database.get(sql`SELECT 1 FROM ${note} WHERE size = ${'x'}`), refused);
  await assert.rejects(database.get(sql`SELECT 1 FROM ${note} WHERE size = ${1e300}`), refused);
  const random = Array.from({ length: 9_000 }, () => Math.random().toString(36).slice(2)).join('');
  await assert.rejects(add(database, random), refused);
});

test('a unique violation is reported by its columns, and by the index where they are expressions', async (t) => {
  const database = await openNotes(t);
  const note = database.names.collectionTable('note');
  const change = sql`CREATE UNIQUE INDEX "note $text" ON ${note} (text, size) WHERE size > 0`;
  await database.write((tx) => tx.run(change), { isExclusive: true });
  await database.write((tx) => tx.run(sql`CREATE UNIQUE INDEX note_lower ON ${note} (lower(text))`));
  const add = (id: string, text: string): Promise<number> =>
    database.write((tx) => tx.run(sql`INSERT INTO ${note} VALUES (${id}, ${text}, 1)`));
  await add('a', 'x');
  for (const [id, text, columns, index] of [
    ['a', 'y', ['id'], undefined],
    ['b', 'x', ['text', 'size'], undefined],
    ['b', 'X', [], 'note_lower'],
  ] as const) {
    await assert.rejects(add(id, text), (error) => {
      assert.ok(error instanceof UniqueViolation);
      assert.deepEqual([error.columns, error.index], [columns, index]);
      return true;
    });
  }
});

async function openNotes(t: TestContext): Promise<Database> {
  const { database } = await openPostgresDatabase(t);
  const note = database.names.collectionTable('note');
  const create = sql`CREATE TABLE ${note} (id text COLLATE "C" NOT NULL UNIQUE, text text, size integer)`;
  await database.write((tx) => tx.run(create), { isExclusive: true });
  return database;
}

function add(database: Database, id: string): Promise<number> {
  const note = database.names.collectionTable('note');
  return database.write((tx) => tx.run(sql`INSERT INTO ${note} (id) VALUES (${id})`));
}
