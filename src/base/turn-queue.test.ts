import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TurnQueue } from './turn-queue.ts';

const wide = { runningMax: 100, runningOfOneMax: 100, waitingMax: 100, waitingOfOneMax: 100 };

test('a work begins after whatever its caller is doing, and what it gives or throws is told', async () => {
  const queue = new TurnQueue(wide);
  let hasBegun = false;
  const running = queue.run('a', async () => {
    hasBegun = true;
    return 5;
  });
  await Promise.resolve();
  assert.equal(hasBegun, false);
  assert.equal(await running, 5);
  await assert.rejects(queue.run('a', () => Promise.reject(new Error('no'))) ?? Promise.resolve(), /no/);
});

test('instances take turns, and none has more running than it may', async () => {
  const queue = new TurnQueue({ ...wide, runningMax: 2, runningOfOneMax: 1 });
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => () => {
    begun.push(name);
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  for (const name of ['a1', 'a2', 'a3']) void queue.run('a', work(name));
  for (const name of ['b1', 'b2']) void queue.run('b', work(name));
  void queue.run('c', work('c1'));
  await nextTurn();
  assert.deepEqual(begun, ['a1', 'b1']);
  for (const expected of ['c1', 'a2', 'b2', 'a3']) {
    ends.shift()?.();
    await nextTurn();
    assert.equal(begun.at(-1), expected, begun.join(' '));
  }
  const idle = queue.whenIdle();
  for (const end of ends) end();
  await idle;
  await queue.whenIdle();
});

test('beyond so many of one instance, or of all, nothing more is taken', async () => {
  const queue = new TurnQueue({ ...wide, runningMax: 1, waitingMax: 3, waitingOfOneMax: 2 });
  const work = (): Promise<void> => nextTurn();
  const taken = ['a', 'a', 'a', 'b', 'b', 'c'].map((name) => queue.run(name, work) !== undefined);
  assert.deepEqual(taken, [true, true, false, true, false, false]);
  await queue.whenIdle();
  assert.notEqual(queue.run('a', work), undefined);
  await queue.whenIdle();
});
