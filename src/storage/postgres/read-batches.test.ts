import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { eventually } from '../../../test/support/eventually.ts';
import { lookupByKey, sql, type SqlValue, withValues } from '../../sql/sql.ts';
import { answerTooLarge } from '../database.ts';
import { ReadBatches } from './read-batches.ts';

const lookup = lookupByKey(sql`SELECT text FROM note WHERE id = ${''}`);
const options = { timeoutMs: 1_000, definitionsVersion: undefined };

test('lookups whose combined answer is too large are run one by one', async () => {
  const asked: number[] = [];
  const questions = new ReadBatches({
    waitingMax: 10,
    query: ({ values, text }) => {
      const isOne = text === lookup.text;
      asked.push(isOne ? 1 : String(values[0]).split(',').length);
      return isOne ? Promise.resolve([[`text of ${String(values[0])}`]]) : Promise.reject(answerTooLarge());
    },
  });
  const found = await Promise.all(
    ['a', 'b', 'c'].map((key) => questions.lookUp(withValues(lookup, [key]), options)),
  );
  assert.deepEqual(found, [[['text of a']], [['text of b']], [['text of c']]]);
  assert.deepEqual(asked, [3, 1, 1, 1]);
});

test('concurrent lookups of one row are run once', async () => {
  const asked: string[] = [];
  const questions = new ReadBatches({
    waitingMax: 10,
    query: ({ values }) => {
      asked.push(String(values.at(-1)));
      return Promise.resolve([[1, 'text']]);
    },
  });
  const find = (): Promise<unknown> => questions.lookUp(withValues(lookup, ['a']), options);
  assert.deepEqual(
    await Promise.all([find(), find(), find()]),
    Array.from({ length: 3 }, () => [[1, 'text']]),
  );
  assert.deepEqual(asked, ['a']);
  await find();
  assert.deepEqual(asked, ['a', 'a']);
});

test('concurrent lookups are combined into two queries at a time', async () => {
  const running: number[] = [];
  let now = 0;
  const questions = new ReadBatches({
    waitingMax: 1_000,
    query: async ({ values }) => {
      running.push((now += 1));
      // In this turn, so that no wait can be over meanwhile.
      await Promise.resolve();
      now -= 1;
      return String(values[0])
        .split(',')
        .map((_, index) => [index + 1, 'text']);
    },
  });
  const keys = Array.from({ length: 1_000 }, (_, index) => String(index));
  const found = await Promise.all(keys.map((key) => questions.lookUp(withValues(lookup, [key]), options)));
  assert.deepEqual(
    found,
    Array.from({ length: keys.length }, () => [['text']]),
  );
  assert.equal(running.length, 8);
  assert.equal(Math.max(...running), 2);
});

test('identical searches share one query, by values and timeout', async () => {
  const asked: unknown[] = [];
  const questions = new ReadBatches({
    waitingMax: 20,
    query: ({ values }, { timeoutMs }) => {
      asked.push([...values, timeoutMs]);
      return Promise.resolve([[asked.length]]);
    },
  });
  const search = (value: SqlValue, timeoutMs: number): Promise<unknown> =>
    questions.search(sql`SELECT ${value}`, { timeoutMs, definitionsVersion: undefined });
  const values = ['1', 1, 1n, null, 'null', Number.POSITIVE_INFINITY, '"1"', Buffer.from([1])];
  const found = await Promise.all([...values, ...values].map((value) => search(value, 1)));
  assert.deepEqual(found.slice(0, values.length), found.slice(values.length));
  assert.deepEqual(
    asked,
    values.map((value) => [value, 1]),
  );
  await Promise.all([search('1', 1), search('1', 2)]);
  assert.deepEqual(asked.slice(values.length), [
    ['1', 1],
    ['1', 2],
  ]);
});

test('no read waits long for the query of another', async () => {
  const ends: (() => void)[] = [];
  const questions = new ReadBatches({
    waitingMax: 20,
    query: () => new Promise((resolve) => ends.push(() => resolve([]))),
  });
  const answers: Promise<unknown>[] = [];
  for (let count = 1; count <= 5; count += 1) {
    answers.push(questions.search(sql`SELECT 1`, options));
    await eventually(`${count} are asked`, () => ends.length === count);
  }
  let isDrained = false;
  const drained = questions.drain().then(() => (isDrained = true));
  for (const end of ends.slice(1)) end();
  await Promise.all(answers.slice(1));
  await setImmediate();
  assert.equal(isDrained, false);
  ends[0]?.();
  await drained;
});

test('a queued lookup keeps its version of the definitions, and is combined only with the same version', async () => {
  const asked: unknown[] = [];
  const questions = new ReadBatches({
    waitingMax: 20,
    query: (_, { definitionsVersion: known }) => {
      asked.push(known);
      return Promise.resolve([[1, 'text']]);
    },
  });
  const by = (known: number): Promise<unknown> =>
    questions.lookUp(withValues(lookup, ['a']), { timeoutMs: 1_000, definitionsVersion: known });
  await Promise.all([by(1), by(1), by(2)]);
  assert.deepEqual(asked, [1, 2]);
});

test('more lookups than may wait are refused at once', async () => {
  const questions = new ReadBatches({
    waitingMax: 2,
    query: () => Promise.resolve([]),
  });
  const results = await Promise.allSettled(
    ['a', 'b', 'c'].map((key) => questions.lookUp(withValues(lookup, [key]), options)),
  );
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected'],
  );
});
