import type { Clock } from '../../base/clock.ts';

/** How late a missed deadline may be noticed. */
const TICK_MS = 20;

export interface AttemptInFlight {
  /** Ends the attempt when its deadline has passed. */
  check(monotonicNow: number): void;
  abort(): void;
}

/**
 * The attempts under way and their deadlines. One interval checks all of them: there are at most a few thousand, and a timer
 * and an abort signal for each would cost more than everything else that this service does for an attempt.
 */
export class AttemptsInFlight {
  readonly #clock: Clock;
  readonly #attempts = new Set<AttemptInFlight>();
  #ticker: NodeJS.Timeout | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#attempts.size;
  }

  add(attempt: AttemptInFlight): void {
    this.#attempts.add(attempt);
    this.#ticker ??= setInterval(() => this.#tick(), TICK_MS);
  }

  delete(attempt: AttemptInFlight): void {
    this.#attempts.delete(attempt);
  }

  abortAll(): void {
    for (const attempt of this.#attempts) attempt.abort();
  }

  #tick(): void {
    const now = this.#clock.monotonic();
    for (const attempt of this.#attempts) attempt.check(now);
    // The ticker stops here and not at the last delete, so that a quiet lane does not start and stop it for each attempt.
    if (this.#attempts.size > 0 || this.#ticker === null) return;
    clearInterval(this.#ticker);
    this.#ticker = null;
  }
}
