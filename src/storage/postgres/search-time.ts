import { QueryTimeout } from '../engine-errors.ts';

/** Searches that take no longer cost nothing: a batch has up to a thousand of them. */
const quickMs = 5;

/** The query timeout, which the searches of one work share: all of them together, however often the work is run again. */
export class SearchTime {
  #leftMs: number;

  constructor(timeoutMs: number) {
    this.#leftMs = timeoutMs;
  }

  /** What the next search may take, in whole milliseconds. Throws QueryTimeout when nothing is left. */
  requireMs(): number {
    if (this.#leftMs <= 0) throw new QueryTimeout();
    return Math.ceil(this.#leftMs);
  }

  spend(tookMs: number): void {
    if (tookMs > quickMs) this.#leftMs -= tookMs;
  }

  /** Called when the server has ended a search, by its own clock. */
  end(): void {
    this.#leftMs = 0;
  }
}
