import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'node:test';
import { Turns } from './turns.ts';

test('works run in their order, never more than may run at once, also after one that fails', async () => {
  const turns = new Turns(2);
  const begun: number[] = [];
  let running = 0;
  let most = 0;
  const works = Array.from({ length: 9 }, (_, index) =>
    turns.run(async () => {
      begun.push(index);
      most = Math.max(most, (running += 1));
      for (let turn = 0; turn <= index % 3; turn += 1) await nextTurn();
      running -= 1;
      if (index === 4) throw new Error('fails');
      return index;
    }),
  );
  const results = await Promise.allSettled(works);
  assert.deepEqual(begun, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(most, 2);
  assert.deepEqual(
    results.map((result) => (result.status === 'fulfilled' ? result.value : 'failed')),
    [0, 1, 2, 3, 'failed', 5, 6, 7, 8],
  );
  assert.equal(await turns.run(() => Promise.resolve('free again')), 'free again');
});
