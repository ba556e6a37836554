/** The only source of time. Tests pass their own, so that 76 hours of retries take no time at all. */
export interface Clock {
  /** Milliseconds since 1970, for what is stored and shown. May jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds from an arbitrary start, never backwards: for durations and deadlines. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

/** A clock that is behind by less than this runs slow and was not set back. It is followed, or the lag would add up for ever. */
const slowMsMax = 1_000;

/** How much slower than real time this clock goes until the other has caught up: less than the jitter of retries. */
const slowedBy = 0.1;

/**
 * Follows another clock, but never goes back: when that clock is set back, this one goes on at nearly the speed of real time until
 * the other has caught up. Otherwise a retry put off by seconds would wait for an hour if the clock was wrong by one. The slower
 * speed closes the gap, so that times set meanwhile are not far ahead for the next process, which begins at the other clock.
 */
export class ForwardClock implements Clock {
  readonly #clock: Clock;
  /** The time returned last, with its fraction, and when that was. */
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
