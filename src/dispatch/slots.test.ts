import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Candidate,
  chooseTurns,
  type DueDelivery,
  type LaneCandidate,
  Slots,
  SlotTime,
} from './slots.ts';

interface Demand {
  readonly due?: readonly DueDelivery[];
  readonly origin?: string;
  readonly isProven?: boolean;
  readonly room?: number;
  readonly usedMs?: number;
  readonly hasFailed?: boolean;
  readonly inFlight?: number;
}

function firsts(count: number): readonly DueDelivery[] {
  return Array.from({ length: count }, (_, n) => ({ event: n, isRetry: false }));
}

function retries(count: number): readonly DueDelivery[] {
  return Array.from({ length: count }, (_, n) => ({ event: 1_000 + n, isRetry: true }));
}

let origins = 0;

function lane(endpointId: string, demand: Demand = {}): LaneCandidate {
  const { due = firsts(1), origin = `https://${(origins += 1)}`, ...rest } = demand;
  const left = [...due];
  return {
    endpointId,
    origin,
    usedMs: 0,
    room: 64,
    isProven: true,
    hasFailed: false,
    inFlight: 0,
    ...rest,
    take: (mayRetry) => {
      const at = mayRetry ? 0 : left.findIndex(({ isRetry }) => !isRetry);
      return at === -1 ? undefined : left.splice(at, 1)[0];
    },
  };
}

function instance(instanceId: string, lanes: readonly LaneCandidate[], usedMs = 0): Candidate {
  return { instanceId, usedMs, lanes };
}

/** Returns how many slots each instance was given. */
function given(candidates: readonly Candidate[], slots = new Slots()): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { instanceId } of chooseTurns(candidates, slots))
    counts[instanceId] = (counts[instanceId] ?? 0) + 1;
  return counts;
}

function silent(count: number, demand: Demand = {}): readonly LaneCandidate[] {
  return Array.from({ length: count }, (_, n) =>
    lane(`e${n}`, { due: firsts(9), isProven: false, ...demand }),
  );
}

test('a lane gets turns up to its limit and its due deliveries', () => {
  assert.deepEqual(given([instance('a', [lane('x', { due: firsts(3) })])]), { a: 3 });
  assert.deepEqual(given([instance('a', [lane('x', { due: firsts(30), room: 7 })])]), { a: 7 });
  assert.deepEqual(given([instance('a', [])]), {});
});

test('an instance never gets more than an eighth', () => {
  const lanes = Array.from({ length: 20 }, (_, n) => lane(`e${n}`, { due: firsts(64) }));
  const slots = new Slots();
  assert.deepEqual(given([instance('a', lanes)], slots), { a: 256 });
  assert.deepEqual(given([instance('a', [lane('more')])], slots), {});
});

test('an endpoint that has not answered lately gets two slots, and one after a failure', () => {
  assert.deepEqual(given([instance('a', silent(1))]), { a: 2 });
  assert.deepEqual(given([instance('a', silent(1, { hasFailed: true }))]), { a: 1 });
  assert.deepEqual(given([instance('a', silent(1, { inFlight: 1 }))]), { a: 1 });
});

test('all such endpoints of an instance get a sixteenth, those of all instances a quarter, and one each when half of that is taken', () => {
  const slots = new Slots();
  assert.deepEqual(given([instance('a', silent(100))], slots), { a: 128 });
  const others = Array.from({ length: 10 }, (_, n) => instance(`i${n}`, silent(100)));
  const taken = Object.values(given(others, slots)).reduce((sum, count) => sum + count, 0);
  assert.equal(taken, 512 - 128);
  const half = new Slots();
  chooseTurns([instance('a', silent(100)), instance('b', silent(100)), instance('c', silent(1))], half);
  assert.deepEqual(given([instance('d', silent(3))], half), { d: 3 });
});

test('an origin gets 64 over all instances', () => {
  const origin = 'https://one.example';
  const tenants = Array.from({ length: 100 }, (_, n) =>
    instance(`i${n}`, [lane('e', { due: firsts(3), origin })]),
  );
  const counts = Object.values(given(tenants));
  assert.deepEqual([counts.length, Math.max(...counts)], [64, 1]);
});

test('an attempt that has ended makes room for its origin, and its slot is taken until it is released', () => {
  const slots = new Slots();
  const origin = 'https://one.example';
  const demand = { due: firsts(64), origin };
  const turns = chooseTurns([instance('a', [lane('e', demand)])], slots);
  const [first, second] = turns;
  assert.ok(first && second);
  assert.deepEqual(given([instance('b', [lane('e', demand)])], slots), {});
  // However often it is noted.
  for (let count = 0; count < 3; count += 1) slots.endAttempt(first);
  assert.deepEqual(given([instance('b', [lane('e', demand)])], slots), { b: 1 });
  assert.equal(slots.taken, 65);
  slots.release(first);
  assert.deepEqual(given([instance('b', [lane('e', demand)])], slots), {});
  slots.release(second);
  assert.deepEqual(given([instance('b', [lane('e', demand)])], slots), { b: 1 });
  assert.equal(slots.taken, 64);
});

test('retries get a quarter, and first attempts behind them go on', () => {
  const slots = new Slots(64);
  const lanes = Array.from({ length: 20 }, (_, n) => lane(`e${n}`, { due: [...retries(4), ...firsts(4)] }));
  const turns = chooseTurns(
    Array.from({ length: 20 }, (_, n) => instance(`i${n}`, lanes.slice(n, n + 1))),
    slots,
  );
  assert.equal(turns.filter(({ isRetry }) => isRetry).length, 16);
  assert.equal(turns.length, 64);
});

test('free slots go to the instance, then to the lane with the least slot time', () => {
  const slots = new Slots(1_000);
  const lanes = [lane('busy', { due: firsts(64), usedMs: 5_000 }), lane('calm', { due: firsts(64) })];
  const turns = chooseTurns(
    [instance('hog', lanes, 60_000), instance('quiet', [lane('z', { due: firsts(40) })])],
    slots,
  );
  assert.deepEqual(
    turns.slice(0, 40).map(({ instanceId }) => instanceId),
    Array.from({ length: 40 }, () => 'quiet'),
  );
  assert.ok(turns.slice(40, 100).every(({ endpointId }) => endpointId === 'calm'));
});

test('lanes with the same slot time take turns', () => {
  const turns = chooseTurns(
    [
      instance('a', [lane('x', { due: firsts(2) }), lane('y', { due: firsts(2) })]),
      instance('b', [lane('z', { due: firsts(2) })]),
    ],
    new Slots(),
  );
  assert.deepEqual(
    turns.map(({ instanceId, endpointId }) => instanceId + endpointId),
    ['ax', 'bz', 'ay', 'bz', 'ax', 'ay'],
  );
});

test('released slots can be used again, and all counts return to 0', () => {
  const slots = new Slots();
  for (let round = 0; round < 3; round += 1) {
    const turns = chooseTurns(
      Array.from({ length: 20 }, (_, n) =>
        instance(`i${n}`, [...silent(50), lane('x', { due: retries(90) })]),
      ),
      slots,
    );
    assert.ok(turns.length > 500);
    for (const turn of turns) slots.release(turn);
    assert.equal(slots.taken, 0);
  }
});

test('whatever endpoints of five instances do at once, one that answers elsewhere gets its slots', () => {
  const slots = new Slots();
  // They had proven themselves, took all they may have, and turned silent.
  for (let n = 0; n < 5; n += 1) {
    const lanes = Array.from({ length: 5 }, (_, place) => lane(`e${place}`, { due: firsts(64) }));
    assert.deepEqual(given([instance(`i${n}`, lanes)], slots), { [`i${n}`]: 256 });
  }
  // Others have never answered.
  given(
    Array.from({ length: 100 }, (_, n) => instance(`s${n}`, silent(100))),
    slots,
  );
  assert.deepEqual(given([instance('well', [lane('x', { due: firsts(64) })])], slots), { well: 64 });
});

test('slot time grows with open attempts, and is halved every ten seconds', () => {
  const time = new SlotTime();
  time.note(1, 0);
  time.note(1, 1_000);
  assert.equal(time.usedAt(1_000), 1_000);
  time.note(-1, 2_000);
  time.note(-1, 2_000);
  const used = time.usedAt(2_000);
  assert.ok(used > 2_900 && used <= 3_000);
  assert.equal(time.usedAt(12_000), used / 2);
});
