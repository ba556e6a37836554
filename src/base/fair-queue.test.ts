import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Busy } from './errors.ts';
import type { Share } from './fair-line.ts';
import { FairQueue } from './fair-queue.ts';

const wide = { runningMax: 100, waitingMax: 100, waitingOfInstanceMax: 100, waitingOfAddressMax: 100 };
const share = (instance: string, signal?: AbortSignal): Share => ({ instance, address: '', signal });

/** Work that ends when it is told to. */
class Stage {
  readonly begun: string[] = [];
  readonly #ends: (() => void)[] = [];

  work(name: string): () => Promise<string> {
    return async () => {
      this.begun.push(name);
      await new Promise<void>((resolve) => this.#ends.push(resolve));
      return name;
    };
  }

  async endOne(): Promise<void> {
    this.#ends.shift()?.();
    await nextTurn();
  }
}

test('what work returns or throws is passed on', async () => {
  const queue = new FairQueue(wide);
  assert.equal(await queue.run(share('a'), async () => 5), 5);
  await assert.rejects(
    queue.run(share('a'), () => Promise.reject(new Error('no'))) ?? Promise.resolve(),
    /no/,
  );
  await queue.whenIdle();
});

test('instances take turns, and none has more running than it may', async () => {
  const queue = new FairQueue({ ...wide, runningMax: 2, runningOfInstanceMax: 1 });
  const stage = new Stage();
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'])
    void queue.run(share(name.charAt(0)), stage.work(name));
  await nextTurn();
  assert.equal(stage.begun.join(' '), 'a1 b1');
  for (const expected of ['a2', 'b2', 'c1', 'a3']) {
    await stage.endOne();
    assert.equal(stage.begun.at(-1), expected, stage.begun.join(' '));
  }
  const idle = queue.whenIdle();
  await stage.endOne();
  await stage.endOne();
  await idle;
});

test('beyond a limit work is not begun, and evicted work is rejected', async () => {
  const queue = new FairQueue({ ...wide, runningMax: 1, waitingMax: 3, waitingOfInstanceMax: 3 });
  const stage = new Stage();
  const first = queue.run(share('a'), stage.work('a1'));
  const waiting = ['a2', 'a3', 'a4'].map((name) => queue.run(share('a'), stage.work(name)));
  assert.equal(queue.run(share('a'), stage.work('a5')), undefined);
  const other = queue.run(share('b'), stage.work('b1'));
  await assert.rejects(waiting[2] ?? Promise.resolve(), Busy);
  for (let round = 0; round < 4; round += 1) await stage.endOne();
  assert.deepEqual(await Promise.all([first, other, waiting[0], waiting[1]]), ['a1', 'b1', 'a2', 'a3']);
  assert.deepEqual(stage.begun, ['a1', 'a2', 'b1', 'a3']);
});

test('work whose caller has left is never begun, and leaves its place', async () => {
  const queue = new FairQueue({ ...wide, runningMax: 1, waitingMax: 1 });
  const stage = new Stage();
  const first = queue.run(share('a'), stage.work('a1'));
  const abort = new AbortController();
  const left = queue.run(share('a', abort.signal), stage.work('left'));
  assert.equal(queue.run(share('b'), stage.work('b0')), undefined);
  abort.abort();
  await assert.rejects(left ?? Promise.resolve(), Busy);
  await assert.rejects(queue.run(share('a', abort.signal), stage.work('late')) ?? Promise.resolve(), Busy);
  const next = queue.run(share('b'), stage.work('b1'));
  await stage.endOne();
  await stage.endOne();
  assert.deepEqual([await first, await next, stage.begun], ['a1', 'b1', ['a1', 'b1']]);
});

test('work waits no longer than it may', async () => {
  const queue = new FairQueue({ ...wide, runningMax: 1, waitMsMax: 5 });
  const stage = new Stage();
  const first = queue.run(share('a'), stage.work('a1'));
  await assert.rejects(queue.run(share('a'), stage.work('a2')) ?? Promise.resolve(), Busy);
  await stage.endOne();
  assert.equal(await first, 'a1');
  await queue.whenIdle();
  assert.deepEqual(stage.begun, ['a1']);
});

test('the limit of concurrent runs holds for every order of arrivals', async () => {
  const queue = new FairQueue({ ...wide, runningMax: 3 });
  let running = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    most = Math.max(most, ++running);
    await nextTurn();
    running -= 1;
  };
  const instances = ['a', 'b', 'c', 'd'];
  await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      const own = share(instances[index % 4] ?? '');
      await queue.run(own, work);
      await queue.run(own, work);
    }),
  );
  assert.equal(most, 3);
});

test('work that waits for something else leaves its turn to others, and has it again afterwards', async () => {
  const queue = new FairQueue({ ...wide, runningMax: 1 });
  const stage = new Stage();
  const waited = Promise.withResolvers<void>();
  const first = queue.run(share('a'), async () => {
    await queue.outside('a', () => waited.promise);
    return stage.work('a1')();
  });
  const second = queue.run(share('a'), stage.work('a2'));
  await nextTurn();
  assert.deepEqual(stage.begun, ['a2']);
  await stage.endOne();
  waited.resolve();
  await nextTurn();
  const third = queue.run(share('b'), stage.work('b1'));
  await nextTurn();
  assert.deepEqual(stage.begun, ['a2', 'a1']);
  await stage.endOne();
  await stage.endOne();
  assert.deepEqual(await Promise.all([first, second, third]), ['a1', 'a2', 'b1']);
});
