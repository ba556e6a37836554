import { GenerationCache } from '../../base/cache.ts';
import type { Clock } from '../../base/clock.ts';
import { QueryTimeout } from '../engine-errors.ts';
import { OverBudget } from './deadline.ts';

/** The part of all time that the budget gets back: what slow searches in writes may take of this thread in the long run. */
const refill = 0.1;

/** Searches that take no longer cost nothing and are never refused: what an index answers is over much sooner. */
const quickMs = 1;

/** The size of a generation of the texts of slow searches, in characters. */
const textsLengthMax = 64 * 1024;

/**
 * The time that searches in the writes of one file may take. A write runs on the thread that serves all instances, and its rules take as
 * long as their owner makes them: without a budget a few guests of one instance would stop all others for as long as they like.
 *
 * The budget is one query timeout, and gets back a tenth of the time that passes. Only time that was really used is taken from it. A search
 * that needed more the last time than is left is ended after a moment; that costs nothing, so that the budget grows until it
 * can be run. So rules that an index answers go on whatever others use up, and slow ones have their turn again.
 */
export class WriteSearches {
  readonly #msMax: number;
  readonly #clock: Clock;
  #leftMs: number;
  /** Until when the budget has got back its part. */
  #untilMs: number;
  /** By the text of a search that was slow, how long it took, or may at least take if it was ended. */
  readonly #needs = new GenerationCache<string, number>(textsLengthMax, (_, { length }) => length);

  constructor(msMax: number, clock: Clock) {
    this.#msMax = msMax;
    this.#clock = clock;
    this.#leftMs = msMax;
    this.#untilMs = clock.monotonic();
  }

  /** Runs a search, which throws OverBudget when it takes longer than it is given. Throws QueryTimeout instead. */
  run<Rows>(text: string, search: (budgetMs: number) => Rows): Rows {
    const startMs = this.#refill();
    const needMs = this.#needs.find(text) ?? quickMs;
    const isCharged = this.#leftMs >= needMs;
    let hasEnded = false;
    try {
      const rows = search(isCharged ? this.#leftMs : quickMs);
      hasEnded = true;
      return rows;
    } catch (error) {
      throw error instanceof OverBudget ? new QueryTimeout(error) : error;
    } finally {
      const tookMs = this.#clock.monotonic() - startMs;
      if (isCharged && tookMs > quickMs) this.#charge(text, tookMs, hasEnded);
    }
  }

  /** Returns the time by the clock. */
  #refill(): number {
    const nowMs = this.#clock.monotonic();
    this.#leftMs = Math.min(this.#msMax, this.#leftMs + (nowMs - this.#untilMs) * refill);
    this.#untilMs = nowMs;
    return nowMs;
  }

  #charge(text: string, tookMs: number, hasEnded: boolean): void {
    this.#leftMs -= tookMs;
    // How long one would have taken that was ended is unknown.
    this.#needs.add(text, Math.min(this.#msMax, hasEnded ? tookMs : 2 * tookMs));
  }
}
