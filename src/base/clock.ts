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
