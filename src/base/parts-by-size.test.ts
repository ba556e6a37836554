import assert from 'node:assert/strict';
import { test } from 'node:test';
import { partsBySize } from './process.ts';

test('neighbours are grouped up to the maximum size, and none is left out', () => {
  const parts = (sizes: readonly number[]) => partsBySize(sizes, (size) => size, 10);
  assert.deepEqual(parts([]), []);
  assert.deepEqual(parts([0, 0]), [[0, 0]]);
  assert.deepEqual(parts([4, 6, 1, 9, 1]), [[4, 6], [1, 9], [1]]);
  assert.deepEqual(parts([3, 50, 3, 3]), [[3], [50], [3, 3]]);
});
