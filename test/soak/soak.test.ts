import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bounds, checkBounds, usageOf } from './bounds.ts';
import { plotOf } from './plot.ts';
import type { Sample } from './sampler.ts';
import { soakRun } from './soak-run.ts';

// Many minutes, and PostgreSQL: npm run soak -- --minutes N [--postgres].

test('a service under mixed load loses nothing, and is sampled', async (t) => {
  // A process this young grows, and on a busy machine others make a turn long.
  const limits = { ...bounds, memoryGrowthMb: 500, descriptorsGrowth: 2_000, turnMs: 60_000 };
  const result = await soakRun({ engine: 'sqlite', seed: 5, durationMs: 12_000, limits });
  const { samples, violations, usage, ...figures } = result;
  t.diagnostic(JSON.stringify(figures));
  assert.deepEqual(violations, []);
  assert.ok(figures.acknowledged > 0 && figures.delivered > 0 && figures.reads > 0 && figures.messages > 0);
  assert.equal(figures.kills, 1);
  assert.ok((usage?.backlogMost ?? 0) > 0, 'some deliveries waited');
  const plot = plotOf(samples);
  assert.equal(plot.split('<polyline').length, 8, 'a line for each figure');
});

const steady = Array.from({ length: 40 }, (_, index): Sample => {
  return {
    atMs: index * 1_000,
    memoryMb: 200,
    descriptors: 40,
    logMb: index / 100,
    dataMb: 1,
    turnMs: 20,
    backlog: 0,
    acknowledged: index * 30,
  };
});

const ended = { quietMs: 20_000, drainMs: 900 };

test('what is steady is within the bounds', () => {
  assert.deepEqual(checkBounds(usageOf(steady, ended)), []);
});

for (const [what, change] of [
  ['memory in MB after growth', (index: number) => ({ memoryMb: 200 + index * 8 })],
  ['descriptors after growth', (index: number) => ({ descriptors: 40 + index * 10 })],
  ['memory in MB', () => ({ memoryMb: bounds.memoryMb + 1 })],
  ['longest turn in ms', (index: number) => ({ turnMs: index === 30 ? bounds.turnMs + 1 : 20 })],
  ['bytes of the log for each change', (index: number) => ({ logMb: index * 30 })],
] as const)
  test(`${what} beyond its bound is a violation`, () => {
    const samples = steady.map((sample, index) => ({ ...sample, ...change(index) }));
    const violations = checkBounds(usageOf(samples, ended));
    assert.equal(violations.length, 1);
    assert.match(violations[0] ?? '', new RegExp(`^${what}: `));
  });

test('a backlog that takes too long to drain is a violation', () => {
  const drainMs = bounds.drainMs + 1;
  assert.deepEqual(checkBounds(usageOf(steady, { ...ended, drainMs })), [
    `milliseconds until no delivery waited: ${drainMs}, more than ${bounds.drainMs}`,
  ]);
});

test('samples that are too few say nothing, which is a violation', () => {
  assert.deepEqual(checkBounds(usageOf(steady.slice(0, 22), ended)), ['too few samples of the second half']);
});
