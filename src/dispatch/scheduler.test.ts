import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MovableClock } from '../../test/support/movable-clock.ts';
import { Scheduler } from './scheduler.ts';

function start(): {
  readonly clock: MovableClock;
  readonly scheduler: Scheduler;
  readonly take: () => readonly string[];
} {
  const clock = new MovableClock(1_000);
  const scheduler = new Scheduler(clock);
  const take = (): readonly string[] => [...scheduler.takeWoken().keys()].toSorted();
  return { clock, scheduler, take };
}

test('each instance is woken when it is due, in whatever order the times were set', () => {
  const { clock, scheduler, take } = start();
  for (const [id, due] of [
    ['c', 1_030],
    ['a', 1_010],
    ['b', 1_020],
  ] as const)
    scheduler.setDue(id, due);
  assert.deepEqual([take(), scheduler.delayMs()], [[], 10]);
  for (const id of ['a', 'b', 'c']) {
    clock.move(10);
    assert.deepEqual(take(), [id]);
    assert.deepEqual(take(), [id], 'it was not looked at');
    scheduler.clearDue(id);
    assert.deepEqual([take(), scheduler.delayMs()], [[], id === 'c' ? undefined : 10]);
  }
});

test('an earlier time replaces a later one, and a later one is waited for', () => {
  const { clock, scheduler, take } = start();
  scheduler.setDue('a', 1_020);
  assert.equal(scheduler.noteDue('a', 1_030), false);
  assert.equal(scheduler.noteDue('a', 1_010), true);
  assert.equal(scheduler.delayMs(), 10);
  scheduler.setDue('a', 1_040);
  clock.move(10);
  assert.deepEqual([take(), scheduler.delayMs()], [[], 30]);
  scheduler.postpone('b', 1_015, 'all');
  assert.equal(scheduler.delayMs(), 5);
  clock.move(30);
  assert.deepEqual(take(), ['a', 'b']);
});
