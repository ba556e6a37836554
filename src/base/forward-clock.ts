import type { Clock } from './clock.ts';

/** Less than this is a clock that runs slow, not one that was set back: it is followed, or what it loses would add up for ever. */
const slowMsMax = 1_000;

/** How much slower this clock goes than time passes, to be caught up with: less than the schedule of retries varies by anyway. */
const slowedBy = 0.1;

/**
 * Follows another clock, but where that is set back this one goes on by the time that has passed, or nearly: what was put off by
 * some seconds must not wait for the hour that a machine's clock was wrong by, nor what is put off later, for which that hour
 * would be the start of another process.
 */
export class ForwardClock implements Clock {
  readonly #clock: Clock;
  /** What was told last, with its fractions, and when that was. */
  #last = Number.NEGATIVE_INFINITY;
  #lastMonotonic = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    const now = this.#clock.now();
    const monotonic = this.#clock.monotonic();
    const passedMs = monotonic - this.#lastMonotonic;
    const isSetBack = this.#last + passedMs - now > slowMsMax;
    this.#last = isSetBack ? Math.max(now, this.#last + passedMs * (1 - slowedBy)) : now;
    this.#lastMonotonic = monotonic;
    return Math.floor(this.#last);
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }
}
