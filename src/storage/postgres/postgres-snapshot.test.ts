import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSameBut, toSnapshot } from './postgres-snapshot.ts';

/** From one look to the next, with these transactions left out. */
function isSame(before: string, now: string, ...ignored: readonly number[]): boolean {
  return isSameBut(toSnapshot(before), toSnapshot(now), new Set(ignored));
}

test('what is still running was not there before, and is not there now', () => {
  assert.equal(isSame('10:10:', '10:10:'), true);
  // 10 has begun; 11 as well, and 10 is still running.
  assert.equal(isSame('10:10:', '10:11:10'), true);
  assert.equal(isSame('10:11:10', '10:12:10,11'), true);
});

test('whatever has ended makes another state, whether it was running or has come and gone', () => {
  assert.equal(isSame('10:11:10', '11:11:'), false);
  assert.equal(isSame('10:10:', '11:11:'), false);
  assert.equal(isSame('10:12:10,11', '11:12:11'), false);
  assert.equal(isSame('10:10:', '10:12:10'), false);
});

test('those that nothing rests on make none, and others that ended with them do', () => {
  assert.equal(isSame('10:10:', '11:11:', 10), true);
  assert.equal(isSame('10:11:10', '11:11:', 10), true);
  assert.equal(isSame('10:10:', '12:12:', 10), false);
  assert.equal(isSame('10:10:', '12:12:', 10, 11), true);
  assert.equal(isSame('10:12:10,11', '12:12:', 10), false);
});

test('more than a thousand at once are not looked through', () => {
  const all = Array.from({ length: 2_000 }, (_, index) => 10 + index);
  assert.equal(isSame('10:10:', '1010:1010:', ...all), true);
  assert.equal(isSame('10:10:', '1011:1011:', ...all), false);
});
