import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Busy } from './errors.ts';
import { type Holding, Ledger } from './ledger.ts';

const share = (instance: string): { instance: string; address: string } => ({ instance, address: '' });

/** An amount that is certain to fit. */
function take(ledger: Ledger, instance: string, amount: number): Holding {
  const holding = ledger.tryToHold(share(instance), amount);
  assert.ok(holding !== undefined, `${instance} ${amount}`);
  return holding;
}

test('an instance alone may have all, and beside others a quarter, but always one holding', () => {
  const ledger = new Ledger({ max: 100 });
  const all = take(ledger, 'a', 100);
  assert.equal(ledger.tryToHold(share('a'), 1), undefined);
  ledger.release(all);
  take(ledger, 'a', 20);
  const large = take(ledger, 'b', 60);
  assert.equal(ledger.tryToHold(share('a'), 6), undefined);
  take(ledger, 'a', 5);
  assert.equal(ledger.tryToHold(share('b'), 1), undefined);
  assert.ok(ledger.grow(large, 15), 'its only holding may grow');
  assert.ok(!ledger.grow(large, 1), 'but not beyond what there is');
  assert.deepEqual([ledger.amount, ledger.amountOf('a'), ledger.amountOf('b')], [100, 25, 75]);
});

test('who waits is served in turn when something is released, and refused after a while', async () => {
  const ledger = new Ledger({ max: 100, waitMsMax: 20 });
  const holding = take(ledger, 'a', 100);
  const order: string[] = [];
  const waits = ['a', 'a', 'b'].map(async (name) => {
    const own = await ledger.hold(share(name), 30);
    order.push(name);
    ledger.release(own);
  });
  ledger.release(holding);
  await Promise.all(waits);
  assert.deepEqual(order.toSorted(), ['a', 'a', 'b']);
  assert.notEqual(order[2], 'b', order.join());
  take(ledger, 'a', 90);
  await assert.rejects(ledger.hold(share('b'), 20), Busy);
  await assert.rejects(ledger.hold(share('b'), 101), Busy);
  assert.deepEqual([ledger.amount, ledger.waiting], [90, 0]);
});

test('who leaves no longer waits', async () => {
  const ledger = new Ledger({ max: 10 });
  const holding = take(ledger, 'a', 10);
  const abort = new AbortController();
  const waiting = ledger.hold({ ...share('a'), signal: abort.signal }, 5);
  abort.abort();
  await assert.rejects(waiting, Busy);
  ledger.release(holding);
  assert.deepEqual([ledger.amount, ledger.waiting], [0, 0]);
});

test('the oldest holdings of an instance over its share are evicted for others, and no more than needed', async () => {
  const ledger = new Ledger({ max: 100, idleMs: 1_000_000 });
  const given: number[] = [];
  for (const number of [0, 1, 2, 3]) {
    const holding = take(ledger, 'a', 25);
    ledger.offer(holding, () => {
      given.push(number);
      setImmediate(() => ledger.release(holding));
    });
  }
  await ledger.hold(share('b'), 40);
  assert.deepEqual(given, [0, 1]);
  assert.equal(ledger.amount, 90);
});

test('a stalled holding is evicted for the same instance, and a moving one is not', async () => {
  const ledger = new Ledger({ max: 100, idleMs: 0, waitMsMax: 10_000 });
  const idle = take(ledger, 'a', 50);
  take(ledger, 'a', 50);
  ledger.offer(idle, () => ledger.release(idle));
  await ledger.hold(share('a'), 50);
  const strict = new Ledger({ max: 100, idleMs: 1_000_000, waitMsMax: 5 });
  const moving = take(strict, 'a', 100);
  strict.offer(moving, () => assert.fail('it has just moved'));
  await assert.rejects(strict.hold(share('a'), 50), Busy);
});

test('memory in use is counted, and another holding is evicted for it', () => {
  const ledger = new Ledger({ max: 100, idleMs: 1_000_000 });
  const old = take(ledger, 'a', 100);
  ledger.offer(old, () => ledger.release(old));
  const holding = ledger.holdAnyway(share('a'));
  ledger.set(holding, 70);
  assert.equal(ledger.amount, 70);
});

const seed = 20_261_126;

test('whatever is held, grown and released: the sum is right and never above the maximum', (context) => {
  context.diagnostic(`seed ${seed}`);
  const step = fc.record({
    action: fc.constantFrom('hold', 'hold', 'grow', 'shrink', 'release'),
    instance: fc.constantFrom('a', 'b', 'c'),
    amount: fc.integer({ min: 0, max: 60 }),
    which: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      const ledger = new Ledger({ max: 100 });
      const holdings: Holding[] = [];
      for (const { action, instance, amount, which } of steps) {
        const [holding] = holdings.splice(which % Math.max(1, holdings.length), 1);
        if (action === 'hold') {
          const made = ledger.tryToHold(share(instance), amount);
          if (made !== undefined) holdings.push(made);
        } else if (holding !== undefined) {
          if (action === 'grow') ledger.grow(holding, amount);
          if (action === 'shrink') ledger.set(holding, Math.min(holding.amount, amount));
          if (action === 'release') ledger.release(holding);
        }
        if (holding !== undefined && action !== 'release') holdings.push(holding);
        const sum = holdings.reduce((total, one) => total + one.amount, 0);
        assert.equal(ledger.amount, sum);
        assert.ok(sum <= 100);
      }
      for (const holding of holdings) ledger.release(holding);
      assert.deepEqual([ledger.amount, ledger.amountOf('a')], [0, 0]);
    }),
    { numRuns: 300, seed },
  );
});
