import assert from 'node:assert/strict';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { test, type TestContext } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import { timerRounds } from '../../test/support/timer-rounds.ts';
import { releaseMemoryWhenIdle } from './process.ts';

test('unreachable objects are collected in a calm second, however old they are', async (t) => {
  const collections = collectionsOfAll(t);
  const leftBehind = new WeakRef(makeOld());
  assert.notEqual(leftBehind.deref(), undefined);
  releaseMemoryWhenIdle();
  // Waits for this collection, not for any that frees the object: a look that is still to come would collect in the next test.
  await collected(collections);
  assert.equal(leftBehind.deref(), undefined);
});

test('as long as no second is calm nothing is collected, and once one is, all is once', async (t) => {
  const collections = collectionsOfAll(t);
  const rest = keepBusy();
  releaseMemoryWhenIdle();
  await timerRounds(1_000, 2);
  rest();
  assert.equal(collections(), 0);
  await collected(collections);
  // One collection reports several entries.
  await timerRounds(1_000, 1);
  const found = collections();
  await timerRounds(1_000, 2);
  assert.equal(collections(), found);
});

/** Counts the entries of collections of all garbage at once, which only `releaseMemoryWhenIdle` requests. */
function collectionsOfAll(t: TestContext): () => number {
  let count = 0;
  const observer = new PerformanceObserver((list) => {
    // Node's types leave out the details of a collection.
    const entries = list.getEntries() as (PerformanceEntry & {
      readonly detail: { readonly flags: number };
    })[];
    const ofAll = constants.NODE_PERFORMANCE_GC_FLAGS_ALL_AVAILABLE_GARBAGE;
    count += entries.filter(({ detail }) => (detail.flags & ofAll) !== 0).length;
  });
  observer.observe({ entryTypes: ['gc'] });
  t.after(() => observer.disconnect());
  return () => count;
}

/** Waits for a collection, and looks so rarely that the looks do not make a second busy. */
async function collected(collections: () => number): Promise<void> {
  await eventually('all is collected', async () => {
    await timerRounds(250, 1);
    return collections() > 0;
  });
}

/** With something to do in every turn of the loop, which then never waits. */
function keepBusy(): () => void {
  let isBusy = true;
  const work = (): void => {
    if (isBusy) setImmediate(work);
  };
  work();
  return () => (isBusy = false);
}

/** An object that has outlived so many collections of young ones that only one of all collects it. */
function makeOld(): object {
  const old = { text: 'made at the start' };
  for (let round = 0; round < 100; round += 1) Array.from({ length: 100_000 }, () => old);
  return old;
}
