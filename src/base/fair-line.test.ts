import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { FairLine, type Share } from './fair-line.ts';

interface Item {
  readonly share: Share;
  readonly number: number;
}

const share = (instance: string, address = ''): Share => ({ instance, address });

function fill(line: FairLine<string>, names: string): string[] {
  return names.split('').map((name, index) => {
    const item = `${name}${index}`;
    return line.add(share(name), item) === undefined ? item : '';
  });
}

function drain<Waiting>(line: FairLine<Waiting>): Waiting[] {
  return [
    ...(function* (): Generator<Waiting> {
      for (let next = line.next(); next !== undefined; next = line.next()) yield next;
    })(),
  ];
}

const wide = { waitingMax: 100, waitingOfInstanceMax: 100, waitingOfAddressMax: 100 };

test('instances take turns, and so do the addresses of one', () => {
  const line = new FairLine<string>(wide);
  for (const name of ['a1', 'a2', 'a3']) line.add(share('A', 'one'), name);
  for (const name of ['b1', 'b2']) line.add(share('A', 'two'), name);
  line.add(share('B'), 'c1');
  assert.deepEqual(drain(line), ['a1', 'c1', 'b1', 'a2', 'b2', 'a3']);
});

test('an instance that is not ready is passed over and keeps its turn', () => {
  const line = new FairLine<string>(wide);
  fill(line, 'aab');
  assert.equal(
    line.next((instance) => instance !== 'a'),
    'b2',
  );
  assert.equal(
    line.next((instance) => instance === 'c'),
    undefined,
  );
  assert.deepEqual(drain(line), ['a0', 'a1']);
});

test('a flood is evicted for an instance, and for an address, with fewer items', () => {
  const line = new FairLine<string>({ waitingMax: 5, waitingOfInstanceMax: 4, waitingOfAddressMax: 4 });
  fill(line, 'aaaa');
  assert.equal(line.add(share('a'), 'a4'), 'a4', 'no place for more of the same');
  assert.equal(line.add(share('a', 'other'), 'o'), 'a3', 'the newest of the address that has most');
  assert.equal(line.add(share('b'), 'b0'), undefined);
  assert.equal(line.add(share('c'), 'c0'), 'a2');
  assert.equal(line.add(share('d'), 'd0'), 'a1');
  assert.equal(line.add(share('e'), 'e0'), 'a0');
  assert.equal(line.add(share('f'), 'f0'), 'f0', 'nobody has more than one');
  assert.deepEqual(drain(line).toSorted(), ['b0', 'c0', 'd0', 'e0', 'o']);
});

const seed = 20_261_126;

const step = fc.record({
  action: fc.constantFrom('add', 'add', 'add', 'add', 'next', 'next', 'next', 'remove'),
  instance: fc.constantFrom('i', 'i', 'i', 'i', 'j', 'k', 'l'),
  address: fc.constantFrom('a', 'a', 'a', 'b', 'c'),
});

test('under any load all bounds hold, nothing is lost or served twice, and no client starves', (context) => {
  context.diagnostic(`seed ${seed}`);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400, size: 'max' }), (steps) => {
      const line = new FairLine<Item>(limits);
      const waiting = new Set<Item>();
      /** How often others were served since each address was served or began to wait. */
      const passedOver = new Map<string, number>();
      for (const [number, { action, instance, address }] of steps.entries()) {
        const item = { share: share(instance, address), number };
        if (action === 'add') {
          const displaced = line.add(item.share, item);
          if (displaced !== item) waiting.add(item);
          if (displaced !== undefined && displaced !== item)
            assert.ok(waiting.delete(displaced), 'it had left');
        } else if (action === 'remove') {
          const [oldest] = waiting;
          if (oldest !== undefined) line.remove(oldest.share, oldest);
          if (oldest !== undefined) waiting.delete(oldest);
        } else {
          const next = line.next();
          assert.equal(next === undefined, waiting.size === 0, 'idle while somebody waits');
          if (next !== undefined) assert.ok(waiting.delete(next), 'served twice, or after it left');
          for (const key of keysOf(waiting)) passedOver.set(key, (passedOver.get(key) ?? 0) + 1);
          if (next !== undefined) passedOver.delete(keyOf(next));
        }
        const keys = keysOf(waiting);
        for (const key of passedOver.keys()) if (!keys.has(key)) passedOver.delete(key);
        assert.equal(line.length, waiting.size);
        checkBounds([...waiting]);
        // Each of the others at most once for each address of this instance.
        assert.ok(Math.max(0, ...passedOver.values()) <= 4 * 3, 'somebody starves');
      }
    }),
    { numRuns: 300, seed },
  );
});

const limits = { waitingMax: 12, waitingOfInstanceMax: 8, waitingOfAddressMax: 5 };

function keyOf({ share: { instance, address } }: Item): string {
  return `${instance}/${address}`;
}

function keysOf(items: ReadonlySet<Item>): ReadonlySet<string> {
  return new Set([...items].map(keyOf));
}

function checkBounds(items: readonly Item[]): void {
  const most = (groupOf: (item: Item) => string): number =>
    Math.max(0, ...[...Map.groupBy(items, groupOf).values()].map(({ length }) => length));
  assert.ok(items.length <= limits.waitingMax);
  assert.ok(most((item) => item.share.instance) <= limits.waitingOfInstanceMax);
  assert.ok(most(keyOf) <= limits.waitingOfAddressMax);
}
