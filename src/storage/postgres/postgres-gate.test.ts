import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../base/errors.ts';
import { WriteGate } from './postgres-pool.ts';

test('shared writers enter together up to a number, an exclusive one alone, all in order', async () => {
  const gate = new WriteGate({ sharedMax: 2, waitingMax: 10, waitMsMax: 1_000 });
  const inside: string[] = [];
  const enter = (name: string): void => void gate.enter(name === 'X').then(() => inside.push(name));
  const steps: string[] = [];
  const next = async (): Promise<void> => {
    await new Promise(setImmediate);
    steps.push(inside.join(''));
  };
  for (const name of ['a', 'b', 'c', 'X', 'd', 'e']) enter(name);
  await next();
  for (let left = 0; left < 5; left += 1) {
    gate.leave();
    await next();
  }
  assert.deepEqual(steps, ['ab', 'abc', 'abc', 'abcX', 'abcXde', 'abcXde']);
});

test('one who waits too long, or behind too many, is refused and leaves the others their places', async () => {
  const gate = new WriteGate({ sharedMax: 1, waitingMax: 2, waitMsMax: 30 });
  await gate.enter(false);
  const first = gate.enter(true);
  const second = gate.enter(false);
  const isBusy = (error: unknown): boolean => error instanceof AppError && error.code === 'unavailable';
  await assert.rejects(gate.enter(false), isBusy);
  await assert.rejects(first, isBusy);
  await assert.rejects(second, isBusy);
  const third = gate.enter(false);
  gate.leave();
  await third;
  const drained = gate.drain();
  gate.leave();
  await drained;
});
