import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addSample, type LogSample, partitionSize } from './partitions.ts';

const hourMs = 3_600_000;

test('a partition has as many positions as the log took in the last day, and a million at least', () => {
  const from: LogSample = { atMs: 5, position: 100 };
  const after = (hours: number, positions: number): number =>
    partitionSize(from, { atMs: from.atMs + hours * hourMs, position: from.position + positions });
  assert.equal(after(24, 20_000_000), 20_000_000);
  assert.equal(after(12, 20_000_000), 40_000_000);
  assert.equal(after(24, 5), 1_000_000);
  // A minute tells nothing of a day.
  assert.equal(after(1 / 60, 1_000_000), 1_000_000);
});

test('positions of the last day are sampled at intervals', () => {
  let samples: readonly LogSample[] = [];
  for (let minute = 0; minute <= 48 * 60; minute += 1)
    samples = addSample(samples, { atMs: minute * 60_000, position: minute });
  assert.equal(samples.length, 24 * 6 + 1);
  assert.deepEqual(samples[0], { atMs: 24 * hourMs, position: 24 * 60 });
  assert.deepEqual(samples.at(-1), { atMs: 48 * hourMs, position: 48 * 60 });
});
