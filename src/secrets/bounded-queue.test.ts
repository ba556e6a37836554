import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../base/errors.ts';
import { boundedQueue } from './password.ts';

test('runs so many at a time, lets so many wait, and refuses the rest', async () => {
  const run = boundedQueue({ runningMax: 2, waitingMax: 3 });
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const started: number[] = [];
  const works = gates.map((gate, index) =>
    run(async () => {
      started.push(index);
      await gate.promise;
      return index;
    }),
  );
  await assert.rejects(
    run(async () => 'too many'),
    (error) => error instanceof AppError && error.code === 'unavailable' && error.retryAfter === 1,
  );
  assert.deepEqual(started, [0, 1]);
  gates[1]?.resolve();
  await works[1];
  assert.deepEqual(started, [0, 1, 2], 'first come, first served');
  for (const gate of gates) gate.resolve();
  assert.deepEqual(await Promise.all(works), [0, 1, 2, 3, 4]);
  assert.equal(await run(async () => 'free again'), 'free again');
});

test('gives the place of a work that failed to the next one', async () => {
  const run = boundedQueue({ runningMax: 1, waitingMax: 1 });
  const failing = run(() => Promise.reject(new Error('no')));
  const next = run(async () => 'next');
  await assert.rejects(failing, /no/);
  assert.equal(await next, 'next');
  assert.equal(await run(async () => 'again'), 'again');
});

test('never runs more than it may, whoever comes between', async () => {
  const run = boundedQueue({ runningMax: 3, waitingMax: 1000 });
  let running = 0;
  let most = 0;
  async function work(): Promise<void> {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
  }
  await Promise.all(Array.from({ length: 100 }, () => run(work).then(() => run(work))));
  assert.equal(most, 3);
});
