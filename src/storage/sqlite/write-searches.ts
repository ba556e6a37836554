import { GenerationCache } from '../../base/cache.ts';
import type { Clock } from '../../base/clock.ts';
import { QueryTimeout } from '../engine-errors.ts';
import { OverBudget } from './deadline.ts';

/** The share of time by which the budget recovers: the most that slow searches in writes take of this thread in the long run. */
const refill = 0.1;

/** Shorter searches cost nothing: a search by an index ends much sooner. */
const quickMs = 1;

/** The size of a generation of the texts of slow searches, in characters. */
const textsLengthMax = 64 * 1024;

/** What is known of the searches of a text, at least one of which was not quick. */
interface SlowText {
  /** How long one has taken; for one that was ended, a guess. */
  readonly needMs: number;
  /** Whether the last one was ended. */
  readonly wasEnded: boolean;
}

/**
 * The time that searches in the writes of one file may take. A write runs on the thread that serves all instances, and its rules take as
 * long as their owner makes them: without a budget a few guests of one instance would stop all others for as long as they like.
 *
 * The budget is one query timeout, and recovers by a tenth of the time that passes. Only time that was really used is taken from it, and none
 * for quick searches: so rules that an index answers go on whatever others use up. A search that needs more than is left is only given the
 * time of a quick one, which is little even where SQLite looks at the clock late, and leaves the rest to grow until the search can be run.
 */
export class WriteSearches {
  readonly #msMax: number;
  readonly #clock: Clock;
  /** Less than nothing where a search has overrun its time: SQLite looks at the clock once for all rows of an inner loop. */
  #leftMs: number;
  /** Until when the budget has got back its part. */
  #untilMs: number;
  readonly #slowTexts = new GenerationCache<string, SlowText>(textsLengthMax, (_, { length }) => length);

  constructor(msMax: number, clock: Clock) {
    this.#msMax = msMax;
    this.#clock = clock;
    this.#leftMs = msMax;
    this.#untilMs = clock.monotonic();
  }

  /** Runs a search within its budget. Throws QueryTimeout where the search throws OverBudget. */
  run<Rows>(text: string, search: (budgetMs: number) => Rows): Rows {
    const startMs = this.#refill();
    const slow = this.#slowTexts.find(text);
    // Even the time of a quick one would be too much.
    if (this.#leftMs < 0 && slow?.wasEnded === true) throw new QueryTimeout();
    const isWhole = this.#leftMs >= (slow?.needMs ?? quickMs);
    let wasEnded = true;
    try {
      const rows = search(isWhole ? this.#leftMs : quickMs);
      wasEnded = false;
      return rows;
    } catch (error) {
      throw error instanceof OverBudget ? new QueryTimeout(error) : error;
    } finally {
      const tookMs = this.#clock.monotonic() - startMs;
      if (tookMs > quickMs) this.#leftMs -= tookMs;
      if (tookMs > quickMs || slow?.wasEnded === true) {
        const needMs = Math.min(this.#msMax, wasEnded ? 2 * tookMs : tookMs);
        // What is quick now and then may be slow with other values.
        this.#slowTexts.add(text, { needMs: isWhole ? needMs : (slow?.needMs ?? needMs), wasEnded });
      }
    }
  }

  /** Returns the time by the clock. */
  #refill(): number {
    const nowMs = this.#clock.monotonic();
    this.#leftMs = Math.min(this.#msMax, this.#leftMs + (nowMs - this.#untilMs) * refill);
    this.#untilMs = nowMs;
    return nowMs;
  }
}
