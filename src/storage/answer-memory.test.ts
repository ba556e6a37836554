import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { fileOf, openSqliteFile } from '../../test/support/engines.ts';
import { sql } from '../sql/sql.ts';
import type { Database } from './database.ts';
import { openSqlite } from './sqlite.ts';
import { AnswerMemory, type Found } from './answer-memory.ts';

const lengthMax = 64_000;

async function open(t: TestContext): Promise<Database> {
  const database = await openSqliteFile(t);
  await database.write((tx) => tx.run(sql`CREATE TABLE t (number INTEGER NOT NULL)`));
  return database;
}

function insert(database: Database): Promise<number> {
  return database.write((tx) => tx.run(sql`INSERT INTO t VALUES (1)`));
}

/** Counts the rows, and how often it was asked to. */
function counting(database: Database, found: Partial<Found<string>> = {}) {
  const memory = new AnswerMemory<string>({ lengthMax, lengthOf: (text) => text.length });
  let asked = 0;
  const find = async (): Promise<Found<string>> => {
    asked += 1;
    const [row] = await database.tuples(sql`SELECT count(*) FROM t`);
    return { answer: String(row?.[0]), isLasting: true, ...found };
  };
  return { memory, find, recall: (key = 'rows') => memory.recall(database, key, find), asked: () => asked };
}

test('what is asked for a third time is known, until something is committed', async (t) => {
  const database = await open(t);
  const { recall, asked } = counting(database);
  for (const rows of [0, 1, 2]) {
    for (let times = 0; times < 4; times += 1) assert.equal(await recall(), String(rows));
    assert.equal(asked(), 2 * (rows + 1));
    await insert(database);
  }
});

test('so it is when another process commits', async (t) => {
  const database = await open(t);
  const other = openSqlite({ path: fileOf(database) });
  t.after(() => other.stop());
  const { recall, asked } = counting(database);
  for (let times = 0; times < 3; times += 1) await recall();
  assert.equal(asked(), 2);
  await insert(other);
  assert.equal(await recall(), '1');
});

test('what was found while something was committed is not known in the state after it', async (t) => {
  const database = await open(t);
  const { memory, find, asked } = counting(database);
  const late = async (): Promise<Found<string>> => {
    const found = await find();
    await insert(database);
    return found;
  };
  for (const rows of [0, 1, 2, 3]) {
    assert.equal(await memory.recall(database, 'rows', late), String(rows));
    assert.equal(asked(), rows + 1);
  }
});

test('what does not last, and what is very long, is found each time', async (t) => {
  const database = await open(t);
  const passing = counting(database, { isLasting: false });
  const long = counting(database, { answer: 'x'.repeat(lengthMax / 64 + 1) });
  for (let times = 1; times <= 4; times += 1) {
    await Promise.all([passing.recall(), long.recall()]);
    assert.deepEqual([passing.asked(), long.asked()], [times, times]);
  }
});

test('answers that nobody asks for go when there are too many', async (t) => {
  const database = await open(t);
  const { recall, asked } = counting(database, { answer: 'x'.repeat(800) });
  for (let key = 0; key < 1_000; key += 1) for (let times = 0; times < 2; times += 1) await recall(`${key}`);
  assert.equal(asked(), 2_000);
  await recall('999');
  assert.equal(asked(), 2_000);
  await recall('0');
  assert.equal(asked(), 2_001);
});
