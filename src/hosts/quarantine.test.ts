import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Quarantine } from './quarantine.ts';

function open(
  t: TestContext,
  isAlone = () => false,
): {
  readonly quarantine: Quarantine;
  readonly clock: { move(ms: number): void };
  readonly moves: string[];
} {
  let nowMs = 0;
  const clock = { monotonic: () => nowMs, move: (ms: number) => void (nowMs += ms) };
  const moves: string[] = [];
  const quarantine = new Quarantine({
    clock,
    isolate: (id) => {
      moves.push(`${id} ${isAlone() ? 'alone' : 'apart'}`);
      return !isAlone();
    },
    readmit: (id) => moves.push(`${id} back`),
  });
  t.after(() => quarantine.stop());
  return { quarantine, clock, moves };
}

test('ten long turns within a minute move an instance apart for ten minutes, and its neighbour stays', (t) => {
  const { quarantine, clock, moves } = open(t);
  for (let turn = 0; turn < 9; turn += 1) {
    quarantine.note('a');
    clock.move(1_000);
  }
  quarantine.note('b');
  assert.deepEqual(moves, []);
  quarantine.note('a');
  assert.deepEqual(moves, ['a apart']);
  assert.deepEqual(quarantine.instances, ['a']);
  clock.move(10 * 60_000 - 1);
  quarantine.look();
  assert.deepEqual(moves, ['a apart']);
  clock.move(1);
  quarantine.look();
  assert.deepEqual(moves, ['a apart', 'a back']);
  assert.deepEqual(quarantine.instances, []);
});

test('long turns that are further apart than a minute are forgotten', (t) => {
  const { quarantine, clock, moves } = open(t);
  for (let turn = 0; turn < 100; turn += 1) {
    quarantine.note('a');
    clock.move(7_000);
    quarantine.look();
  }
  assert.deepEqual(moves, []);
});

test('an instance that goes on apart from the others stays there', (t) => {
  const { quarantine, clock, moves } = open(t);
  for (let turn = 0; turn < 10; turn += 1) quarantine.note('a');
  clock.move(5 * 60_000);
  for (let turn = 0; turn < 10; turn += 1) quarantine.note('a');
  clock.move(6 * 60_000);
  quarantine.look();
  assert.deepEqual(moves, ['a apart']);
});

test('an instance that was left where it is, as it was alone, is moved apart when it goes on beside others', (t) => {
  let isAlone = true;
  const { quarantine, moves } = open(t, () => isAlone);
  for (let turn = 0; turn < 10; turn += 1) quarantine.note('a');
  assert.deepEqual(quarantine.instances, []);
  isAlone = false;
  for (let turn = 0; turn < 10; turn += 1) quarantine.note('a');
  assert.deepEqual(moves, ['a alone', 'a apart']);
  assert.deepEqual(quarantine.instances, ['a']);
});
