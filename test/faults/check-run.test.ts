import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkDuplicate } from './check-run.ts';

const delivery = 'event-endpoint';
const nothing = { delivery, eventId: 'event', sequence: 1, digest: '' };
const twiceInOne = [
  { ...nothing, life: 1, atMs: 100_000 },
  { ...nothing, life: 1, atMs: 112_000 },
];

/** What is wrong with two receipts of a delivery, after these take-overs of its instance. */
function problemsOf(takeovers: readonly number[]): readonly string[] {
  const problems: string[] = [];
  checkDuplicate(twiceInOne, { lives: [], takeovers }, (text) => problems.push(text));
  return problems;
}

test('a delivery may come twice in one life only if another node took its instance from one that stood still', () => {
  assert.deepEqual(problemsOf([111_000]), []);
  const violation = [`${delivery} arrived twice in one life of the server`];
  assert.deepEqual(problemsOf([]), violation);
  assert.deepEqual(problemsOf([112_001]), violation);
  assert.deepEqual(problemsOf([80_000]), violation);
});
