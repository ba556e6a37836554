import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DueFloor } from './due-floor.ts';

const start = 1_000_000;

test('a read begins shortly before the last one, or at the first pending delivery that it found', () => {
  const floor = new DueFloor();
  assert.equal(floor.beginAt(start), 0);
  floor.note(start, undefined);
  assert.equal(floor.beginAt(start + 10), start - 2_000);
  floor.note(start + 10, start - 60_000);
  assert.equal(floor.beginAt(start + 20), start - 60_000);
  floor.note(start + 20, start + 15);
  assert.equal(floor.beginAt(start + 30), start - 1_980);
});

test('every five seconds a read begins at the start', () => {
  const floor = new DueFloor();
  floor.beginAt(start);
  floor.note(start, undefined);
  assert.notEqual(floor.beginAt(start + 4_999), 0);
  assert.equal(floor.beginAt(start + 5_000), 0);
  assert.notEqual(floor.beginAt(start + 5_001), 0);
});

test('a read begins at the start after a reset and after the clock was set back', () => {
  const floor = new DueFloor();
  floor.beginAt(start);
  floor.note(start, undefined);
  assert.equal(floor.beginAt(start - 3_000), 0);
  floor.note(start - 3_000, undefined);
  floor.reset();
  assert.equal(floor.beginAt(start - 2_999), 0);
});
