import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram } from './histogram.ts';

test('a histogram counts each value in the first class whose bound is not below it', () => {
  const histogram = new Histogram([1, 2, 4]);
  for (const value of [0, 1, 1.5, 2, 4, 4.5, 100]) histogram.note(value);
  assert.deepEqual([...histogram.counts], [2, 2, 1, 2]);
  assert.equal(histogram.count, 7);
  assert.equal(histogram.sum, 113);
});

test('a histogram of seconds takes milliseconds', () => {
  const histogram = new Histogram([0.001, 1]);
  histogram.noteMs(1);
  histogram.noteMs(250);
  assert.deepEqual([...histogram.counts], [1, 1, 0]);
  assert.equal(histogram.sum, 0.251);
});
