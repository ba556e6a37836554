import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { describeEngines, type OpenDatabase, openSqliteFile } from '../../test/support/engines.ts';
import { eventually } from '../../test/support/eventually.ts';
import { sql } from '../sql/sql.ts';
import { AnswerCache, type CacheEntry } from './answer-cache.ts';
import type { Database } from '../storage/database.ts';

const lengthMax = 64_000;

async function setUp(t: TestContext, open: OpenDatabase): Promise<Database> {
  const database = await open(t);
  const table = database.names.collectionTable('t');
  await database.write((tx) => tx.run(sql`CREATE TABLE ${table} (number INTEGER NOT NULL)`));
  return database;
}

function insert(database: Database): Promise<number> {
  const table = database.names.collectionTable('t');
  return database.write((tx) => tx.run(sql`INSERT INTO ${table} VALUES (1)`));
}

/** Counts the rows, and how often it was asked to. */
function counting(database: Database, found: Partial<CacheEntry<string>> = {}) {
  const memory = new AnswerCache<string>({ lengthMax, lengthOf: (text) => text.length });
  let asked = 0;
  const find = async (): Promise<CacheEntry<string>> => {
    asked += 1;
    const [row] = await database.tuples(sql`SELECT count(*) FROM ${database.names.collectionTable('t')}`);
    return { answer: String(row?.[0]), isCacheable: true, ...found };
  };
  const recall = (key = 'rows'): Promise<string> => memory.getOrRun({ database }, key, find);
  return { memory, find, recall, asked: () => asked };
}

describeEngines('answers that are known', (open) => {
  test('what is asked for again and again is known, until something is committed', async (t) => {
    const database = await setUp(t, open);
    const { recall, asked } = counting(database);
    for (const rows of [0, 1, 2, 3]) {
      await eventually('it is known', async () => {
        const before = asked();
        assert.equal(await recall(), String(rows));
        return asked() === before;
      });
      await insert(database);
    }
  });

  test('so it is when another process commits', async (t) => {
    const database = await setUp(t, open);
    const other = await open(t, database);
    const { recall, asked } = counting(database);
    for (const rows of [0, 1, 2]) {
      await eventually('it is known', async () => {
        const before = asked();
        assert.equal(await recall(), String(rows));
        return asked() === before;
      });
      await insert(other);
    }
  });

  test('many who ask at the same time find no less than one who asks alone', async (t) => {
    const database = await setUp(t, open);
    const { recall, asked } = counting(database);
    await eventually('it is known to all', async () => {
      const before = asked();
      await Promise.all(Array.from({ length: 20 }, () => recall()));
      return asked() === before;
    });
    await insert(database);
    const answers = await Promise.all(Array.from({ length: 20 }, () => recall()));
    assert.deepEqual([...new Set(answers)], ['1']);
  });
});

test('the first time nobody asks for the state, the third time in one state it is not looked for', async (t) => {
  const database = await setUp(t, openSqliteFile);
  const { recall, asked } = counting(database);
  const counts: number[] = [];
  for (let round = 0; round < 2; round += 1) {
    for (let times = 0; times < 5; times += 1) {
      assert.equal(await recall(), String(round));
      counts.push(asked());
    }
    await insert(database);
  }
  assert.deepEqual(counts, [1, 2, 3, 3, 3, 4, 5, 5, 5, 5]);
});

test('what was found while something was committed is not known in the state after it', async (t) => {
  const database = await setUp(t, openSqliteFile);
  const { memory, find, asked } = counting(database);
  const late = async (): Promise<CacheEntry<string>> => {
    const found = await find();
    await insert(database);
    return found;
  };
  for (const rows of [0, 1, 2, 3]) {
    assert.equal(await memory.getOrRun({ database }, 'rows', late), String(rows));
    assert.equal(asked(), rows + 1);
  }
});

test('where the state cannot be told it is found each time', async (t) => {
  const database = await setUp(t, openSqliteFile);
  const { memory, find, recall, asked } = counting(database);
  for (let times = 0; times < 4; times += 1) await recall();
  assert.equal(asked(), 3);
  const untold = { state: () => undefined };
  for (const key of ['rows', 'others'])
    for (let times = 0; times < 4; times += 1) await memory.getOrRun({ database: untold }, key, find);
  assert.equal(asked(), 3 + 2 * 4);
});

test('what does not last, and what is very long, is found each time', async (t) => {
  const database = await setUp(t, openSqliteFile);
  const passing = counting(database, { isCacheable: false });
  const long = counting(database, { answer: 'x'.repeat(lengthMax / 64 + 1) });
  for (let times = 1; times <= 5; times += 1) {
    await Promise.all([passing.recall(), long.recall()]);
    assert.deepEqual([passing.asked(), long.asked()], [times, times]);
  }
});

test('answers that nobody asks for go when there are too many', async (t) => {
  const database = await setUp(t, openSqliteFile);
  const { recall, asked } = counting(database, { answer: 'x'.repeat(800) });
  for (let key = 0; key < 1_000; key += 1) for (let times = 0; times < 3; times += 1) await recall(`${key}`);
  assert.equal(asked(), 3_000);
  await recall('999');
  assert.equal(asked(), 3_000);
  await recall('0');
  assert.equal(asked(), 3_001);
});
