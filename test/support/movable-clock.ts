import type { Clock } from '../../src/base/clock.ts';

/** A clock that stands still until it is moved, also backwards. Its monotonic time passes by itself: sockets and timers are real. */
export class MovableClock implements Clock {
  #now: number;

  constructor(now: number = Date.UTC(2026, 10, 20, 9, 35, 20, 114)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return performance.now();
  }

  move(byMs: number): void {
    this.#now += byMs;
  }
}
