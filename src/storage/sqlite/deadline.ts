import type { Clock } from '../../base/clock.ts';
import { QueryTimeout } from '../engine-errors.ts';

/** The time of a search, and the memory of its rows. */
export interface SearchBudget {
  /** How much of the query timeout has passed before. */
  readonly spentMs?: number;
  /** When it is to be ended before the query timeout. */
  readonly budgetMs?: number;
  readonly bytesMax?: number | undefined;
}

/** A search has not ended within its budget. */
export class OverBudget extends Error {}

/** Ends a statement that runs for longer than the time-out or its budget: SQLite calls `check` for its rows, which then throws. */
export class Deadline {
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  #startMs: number | undefined;
  #spentMs = 0;
  #budgetMs = Number.POSITIVE_INFINITY;

  constructor(timeoutMs: number, clock: Clock) {
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
  }

  /** Called when a statement begins. */
  reset({ spentMs = 0, budgetMs = Number.POSITIVE_INFINITY }: SearchBudget = {}): void {
    this.#startMs = undefined;
    this.#spentMs = spentMs;
    this.#budgetMs = budgetMs;
  }

  check(): number {
    const nowMs = this.#clock.monotonic();
    this.#startMs ??= nowMs;
    const tookMs = nowMs - this.#startMs;
    if (tookMs + this.#spentMs > this.#timeoutMs) throw new QueryTimeout();
    if (tookMs > this.#budgetMs) throw new OverBudget();
    return 1;
  }
}
