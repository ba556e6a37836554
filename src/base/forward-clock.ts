import type { Clock } from './clock.ts';

/** Less than this is a clock that runs slow, not one that was set back: it is followed, or what it loses would add up for ever. */
const slowMsMax = 1_000;

/**
 * Follows another clock, but where that is set back this one goes on by the time that has passed: what was put off by some
 * seconds must not wait for the hour that a machine's clock was wrong by.
 */
export class ForwardClock implements Clock {
  readonly #clock: Clock;
  /** From the monotonic time to this clock's. */
  #offsetMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    const now = this.#clock.now();
    const monotonic = this.#clock.monotonic();
    const isSetBack = monotonic + this.#offsetMs - now > slowMsMax;
    if (!isSetBack) this.#offsetMs = now - monotonic;
    return isSetBack ? Math.floor(monotonic + this.#offsetMs) : now;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }
}
