import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WindowCounter, type WindowLimit } from './window-counter.ts';

const at = (nowMs: number, max = 2): WindowLimit => ({ max, durationMs: 1_000, nowMs });

test('a window begins with its first count and ends after its duration, however full', () => {
  const counter = new WindowCounter(10);
  assert.deepEqual(counter.take('a', at(500)), { isAllowed: true, used: 1, endMs: 1_500 });
  assert.deepEqual(counter.take('a', at(1_499)), { isAllowed: true, used: 2, endMs: 1_500 });
  assert.deepEqual(counter.take('a', at(1_499)), { isAllowed: false, used: 2, endMs: 1_500 });
  assert.equal(counter.take('b', at(1_499)).isAllowed, true);
  assert.deepEqual(counter.take('a', at(1_500)), { isAllowed: true, used: 1, endMs: 2_500 });
});

test('a clock that is set back begins a new window', () => {
  const counter = new WindowCounter(10);
  for (let count = 0; count < 3; count += 1) counter.take('a', at(10_000));
  assert.deepEqual(counter.take('a', at(9_000)), { isAllowed: true, used: 1, endMs: 10_000 });
});

test('reading a window counts nothing, and a refund frees a place in the same window only', () => {
  const counter = new WindowCounter(10);
  assert.equal(counter.look('a', at(0, 1)).isAllowed, true);
  assert.equal(counter.take('a', at(0, 1)).isAllowed, true);
  assert.equal(counter.look('a', at(0, 1)).isAllowed, false);
  counter.refund('a', 1_000);
  counter.refund('a', 1_000);
  counter.refund('b', 1_000);
  assert.equal(counter.take('a', at(1, 1)).isAllowed, true);
  counter.take('a', at(1_000, 1));
  counter.refund('a', 1_000);
  assert.equal(counter.take('a', at(1_000, 1)).isAllowed, false);
});

test('a shared window ends on all nodes at once, and counts from before it was known are included', () => {
  const counter = new WindowCounter(10);
  for (let count = 0; count < 2; count += 1) counter.take('a', at(500));
  counter.endAt('a', 1_200);
  assert.deepEqual(counter.take('a', at(1_199)), { isAllowed: false, used: 2, endMs: 1_200 });
  assert.equal(counter.take('a', at(1_200)).isAllowed, true);
  counter.endAt('a', 2_100);
  counter.fill('a', 2);
  assert.equal(counter.take('a', at(2_099)).isAllowed, false);
  // The next window of all nodes has begun, by the clock of another one.
  counter.endAt('a', 3_000);
  assert.deepEqual(counter.take('a', at(2_099)), { isAllowed: true, used: 2, endMs: 3_000 });
});

test('the keys have a maximum, beyond which the window that began first is forgotten', () => {
  const counter = new WindowCounter(1_000);
  counter.take('first', at(0, 1));
  for (let key = 0; key < 5_000; key += 1) {
    counter.take(String(key), at(1, 1));
    assert.ok(counter.size <= 1_000);
  }
  assert.equal(counter.take('4999', at(2, 1)).isAllowed, false);
  assert.equal(counter.take('first', at(2, 1)).isAllowed, true);
});
