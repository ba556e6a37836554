import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runTogether, sql, withValues } from '../sql/sql.ts';
import { answerTooLarge } from './answer-too-large.ts';
import { Lookups } from './postgres-lookups.ts';

const lookup = runTogether(sql`SELECT text FROM note WHERE id = ${''}`, 'lookup');

test('lookups that are together more than can be held are asked one by one', async () => {
  const asked: number[] = [];
  const lookups = new Lookups({
    waitingMax: 10,
    ask: ({ values, text }) => {
      const isOne = text === lookup.text;
      asked.push(isOne ? 1 : String(values[0]).split(',').length);
      return isOne ? Promise.resolve([[`text of ${String(values[0])}`]]) : Promise.reject(answerTooLarge());
    },
  });
  const found = await Promise.all(['a', 'b', 'c'].map((key) => lookups.find(withValues(lookup, [key]))));
  assert.deepEqual(found, [[['text of a']], [['text of b']], [['text of c']]]);
  assert.deepEqual(asked, [3, 1, 1, 1]);
});

test('a row that several ask for is asked for once', async () => {
  const asked: string[] = [];
  const lookups = new Lookups({
    waitingMax: 10,
    ask: ({ values }) => {
      asked.push(String(values.at(-1)));
      return Promise.resolve([[1, 'text']]);
    },
  });
  const find = (): Promise<unknown> => lookups.find(withValues(lookup, ['a']));
  assert.deepEqual(await Promise.all([find(), find(), find()]), Array(3).fill([[1, 'text']]));
  assert.deepEqual(asked, ['a']);
  await find();
  assert.deepEqual(asked, ['a', 'a']);
});

test('more lookups than may wait are refused at once', async () => {
  const lookups = new Lookups({ waitingMax: 2, ask: () => Promise.resolve([]) });
  const results = await Promise.allSettled(
    ['a', 'b', 'c'].map((key) => lookups.find(withValues(lookup, [key]))),
  );
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected'],
  );
});
