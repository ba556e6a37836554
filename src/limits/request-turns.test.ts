import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MovableClock } from '../../test/support/movable-clock.ts';
import { RequestTurns, turnLimits } from './request-turns.ts';

class SteppedClock extends MovableClock {
  ms = 0;

  override monotonic(): number {
    return this.ms;
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Trial {
  readonly clock: SteppedClock;
  /** Begins so many requests, which run until `end`; resolves when those run or wait that are not refused. */
  readonly send: (instance: string, count: number, quota?: number) => Promise<void>;
  readonly running: (instance: string) => number;
  readonly refused: () => number;
  /** Ends all that run. */
  readonly end: () => Promise<void>;
}

function trial(): Trial {
  const clock = new SteppedClock();
  const turns = new RequestTurns(clock);
  let ends: { readonly instance: string; readonly end: () => void }[] = [];
  let refused = 0;
  return {
    clock,
    send: async (instance, count, quota) => {
      for (let index = 0; index < count; index += 1) {
        const work = (): Promise<void> => {
          const { promise, resolve } = Promise.withResolvers<void>();
          ends.push({ instance, end: resolve });
          return promise;
        };
        const isFree = turns.isFree(instance, quota);
        const run = isFree ? work() : turns.run({ instance, address: 'a' }, quota, work);
        run.catch(() => (refused += 1));
      }
      await nextTurn();
    },
    running: (instance) => ends.filter((one) => one.instance === instance).length,
    refused: () => refused,
    end: async () => {
      const ended = ends;
      ends = [];
      for (const { end } of ended) end();
      await nextTurn();
    },
  };
}

test('an instance that is used alone runs all of its requests', async () => {
  const { send, running, refused } = trial();
  await send('one', 500);
  assert.deepEqual([running('one'), refused()], [500, 0]);
});

test('beside another, 20 run at once, 200 wait, and the others are refused; the other one is not kept waiting', async () => {
  const { send, running, refused, end } = trial();
  await send('other', 1);
  await send('one', 300);
  assert.deepEqual([running('one'), refused()], [20, 80]);
  await send('other', 5);
  assert.equal(running('other'), 6);
  await end();
  assert.equal(running('one'), 20);
});

test('those that wait for a second are refused', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { send, running, refused } = trial();
  await send('other', 1);
  await send('one', 25);
  t.mock.timers.tick(turnLimits.waitMsMax - 1);
  await nextTurn();
  assert.equal(refused(), 0);
  t.mock.timers.tick(1);
  await nextTurn();
  assert.deepEqual([running('one'), refused()], [20, 5]);
});

test('an instance is alone again ten seconds after the last request of another', async () => {
  const { send, running, clock } = trial();
  await send('other', 1);
  clock.ms = 10_000;
  await send('one', 30);
  assert.equal(running('one'), 20);
  clock.ms = 10_001;
  await send('one', 30);
  assert.equal(running('one'), 50);
});

test('a quota of concurrent requests holds instead, also for an instance that is used alone', async () => {
  const { send, running } = trial();
  await send('one', 10, 3);
  assert.equal(running('one'), 3);
  await send('other', 30, 25);
  assert.equal(running('other'), 25);
});
