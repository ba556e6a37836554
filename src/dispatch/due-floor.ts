/** A delivery gets its due time before its commit. A later commit is found by a read from the start. */
const lateMs = 2_000;
const fromStartEveryMs = 5_000;

/**
 * The due time at which a look for deliveries that are due again begins. PostgreSQL keeps the index entries of settled rows for as long
 * as any snapshot may need them, and a look from the start steps over every one: with 100,000 of them behind one forgotten transaction,
 * each look takes tens of milliseconds more. So a look begins at the first pending delivery that the last one found, or two seconds
 * before the last one if that is earlier.
 *
 * Times are milliseconds since 1970 by the clock that deliveries are due by.
 */
export class DueFloor {
  #since = 0;
  #fromStartAt = 0;

  /** Returns where a look at `now` begins. It is 0 every 5 s and after the clock was set back, so that late commits are found. */
  beginAt(now: number): number {
    if (now >= this.#since && now < this.#fromStartAt) return this.#since;
    this.#fromStartAt = now + fromStartEveryMs;
    return 0;
  }

  /** Notes that a look at `now` found the first pending delivery due at `firstDue`, or none. */
  note(now: number, firstDue: number | undefined): void {
    this.#since = Math.min(firstDue ?? now, now - lateMs);
  }

  /** Makes the next look begin at the start. */
  reset(): void {
    this.#fromStartAt = 0;
  }
}
