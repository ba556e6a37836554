import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, ForwardClock } from './clock.ts';

const hourMs = 3_600_000;

/** A machine whose clock can be set, and on which time passes only when it is told to. */
class Machine implements Clock {
  #now = Date.UTC(2026, 10, 20);
  #monotonic = 5_000.25;

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  pass(ms: number): void {
    this.#now += ms;
    this.#monotonic += ms;
  }

  set(byMs: number): void {
    this.#now += byMs;
  }
}

test('a clock that goes forward is followed, also when it is set forward', () => {
  const machine = new Machine();
  const clock = new ForwardClock(machine);
  for (const byMs of [0, 1, hourMs]) {
    machine.set(byMs);
    assert.equal(clock.now(), machine.now());
    machine.pass(10);
    assert.equal(clock.now(), machine.now());
  }
});

test('a clock that is set back is gone on without, nearly as fast as time passes', () => {
  const machine = new Machine();
  const clock = new ForwardClock(machine);
  const before = clock.now();
  machine.set(-hourMs);
  assert.equal(clock.now(), before);
  machine.pass(10_000);
  assert.equal(clock.now(), before + 9_000);
  machine.set(hourMs);
  assert.equal(clock.now(), machine.now());
});

test('a clock that was set back catches up, however often it is looked at', () => {
  for (const lookMs of [100, 60_000, 10 * hourMs]) {
    const machine = new Machine();
    const clock = new ForwardClock(machine);
    clock.now();
    machine.set(-hourMs);
    for (let passedMs = 0; passedMs < 10 * hourMs; passedMs += lookMs) {
      machine.pass(lookMs);
      clock.now();
    }
    assert.equal(clock.now(), machine.now());
  }
});

test('a clock that runs slow is followed', () => {
  const machine = new Machine();
  const clock = new ForwardClock(machine);
  for (let minute = 0; minute < 100; minute += 1) {
    machine.pass(60_000);
    machine.set(-50);
    assert.equal(clock.now(), machine.now());
  }
});
