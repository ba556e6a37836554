import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../test/faults/random.ts';
import { type LogState, SafePosition } from './safe-position.ts';

function valueAfter(...states: readonly (readonly [last: number, xmin: number, xmax: number])[]): number {
  const safe = new SafePosition();
  for (const [last, xmin, xmax] of states) safe.note({ last, xmin: BigInt(xmin), xmax: BigInt(xmax) });
  return safe.value;
}

test('nothing is safe before a position was read and all that had begun by the next state are over', () => {
  assert.equal(valueAfter(), 0);
  assert.equal(valueAfter([10, 100, 100]), 0);
  assert.equal(valueAfter([10, 100, 100], [12, 101, 103]), 0);
  assert.equal(valueAfter([10, 100, 100], [12, 101, 103], [20, 102, 110]), 0);
  assert.equal(valueAfter([10, 100, 100], [12, 101, 103], [20, 103, 110]), 10);
});

test('the position that was read with a snapshot is not safe with it, only the one before', () => {
  assert.equal(valueAfter([10, 100, 100], [15, 100, 100], [20, 100, 100]), 10);
  assert.equal(valueAfter([10, 100, 100], [15, 100, 100], [20, 100, 100], [20, 100, 100]), 15);
});

test('while a transaction is open for long nothing moves, and then the first state moves it on', () => {
  const safe = new SafePosition();
  const note = (last: number, xmin: number, xmax: number): number => {
    safe.note({ last, xmin: BigInt(xmin), xmax: BigInt(xmax) });
    return safe.value;
  };
  note(10, 50, 60);
  for (let step = 1; step <= 100; step += 1) assert.equal(note(10 + step, 50, 60 + step), 0);
  assert.equal(note(111, 161, 161), 10);
  assert.equal(note(111, 161, 161), 110);
  assert.equal(note(111, 161, 161), 111);
});

test('an id of a transaction may have more digits than a number holds', () => {
  const safe = new SafePosition();
  const xmax = 2n ** 60n;
  safe.note({ last: 1, xmin: xmax, xmax });
  safe.note({ last: 2, xmin: xmax, xmax });
  safe.note({ last: 3, xmin: xmax - 1n, xmax });
  assert.equal(safe.value, 0);
  safe.note({ last: 3, xmin: xmax, xmax });
  assert.equal(safe.value, 1);
});

/** A log that transactions write to: each has its id before it draws positions, and ends when it pleases. */
class Log {
  readonly #random: Random;
  /** By id: the positions that an open transaction has drawn. */
  readonly #open = new Map<bigint, number[]>();
  #nextId = 700n;
  last = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  step(): void {
    const ids = [...this.#open.keys()];
    const id = this.#random.pick(ids);
    const chance = this.#random.unit();
    if (id === undefined || (chance < 0.3 && ids.length < 6)) {
      this.#open.set(this.#nextId, []);
      this.#nextId += 1n;
    } else if (chance < 0.65) this.#open.get(id)?.push((this.last += 1));
    // The first one may stay for long.
    else if (id !== ids[0] || this.#random.unit() < 0.2) this.#open.delete(id);
  }

  endAll(): void {
    this.#open.clear();
  }

  snapshot(): Pick<LogState, 'xmin' | 'xmax'> {
    const [xmin = this.#nextId] = [...this.#open.keys()].toSorted((a, b) => Number(a - b));
    return { xmin, xmax: this.#nextId };
  }

  /** The first position that is still to appear, or may be. */
  get firstHidden(): number {
    return Math.min(this.last + 1, ...[...this.#open.values()].flat());
  }
}

test('whatever the order of commits, no position up to the safe one is still to appear, and all are safe in the end', () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31);
  const random = new Random(seed);
  for (let history = 0; history < 500; history += 1) {
    const log = new Log(random);
    const safe = new SafePosition();
    const steps = (max: number): void => {
      for (let step = random.integer(0, max); step > 0; step -= 1) log.step();
    };
    const note = (): void => {
      const snapshot = log.snapshot();
      // The position is read later than the snapshot is taken.
      steps(3);
      safe.note({ ...snapshot, last: log.last });
    };
    for (let look = 0; look < 60; look += 1) {
      const before = safe.value;
      note();
      const about = `seed ${seed}, history ${history}, look ${look}`;
      assert.ok(safe.value < log.firstHidden, `${about}: ${safe.value} is safe, ${log.firstHidden} hidden`);
      assert.ok(safe.value >= before, about);
      steps(6);
    }
    log.endAll();
    for (let look = 0; look < 3; look += 1) safe.note({ ...log.snapshot(), last: log.last });
    assert.equal(safe.value, log.last, `seed ${seed}, history ${history}`);
  }
});
