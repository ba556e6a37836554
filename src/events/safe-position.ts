/** What is read of the log's state in one statement. */
export interface LogState {
  /** The last position that was drawn. */
  readonly last: number;
  /** Of the snapshot: every transaction before `xmin` is over, none from `xmax` on had begun (PostgreSQL 18, section 9.28.9). */
  readonly xmin: bigint;
  readonly xmax: bigint;
}

/**
 * The position up to which no event can appear any more, where several transactions write at the same time. A position is drawn before
 * its commit, so an event may become visible behind one with a later position. A transaction has its id before it draws a position, as
 * it has written the record by then. So when all transactions that had begun when a position was the last one are over, all events up
 * to it are visible, or never will be.
 */
export class SafePosition {
  #safe = 0;
  #before: number | undefined;
  /** A position, and the first transaction that began after it was drawn. */
  #candidate: { readonly position: number; readonly xmax: bigint } | undefined;

  get value(): number {
    return this.#safe;
  }

  /** Takes the state of the log into account; states are given in the order in which they were read. */
  note({ last, xmin, xmax }: LogState): void {
    if (this.#candidate !== undefined && xmin >= this.#candidate.xmax) {
      this.#safe = Math.max(this.#safe, this.#candidate.position);
      this.#candidate = undefined;
    }
    // The snapshot of a statement is older than the position that it reads, hence the one that was read before.
    if (this.#before !== undefined) this.#candidate ??= { position: this.#before, xmax };
    this.#before = last;
  }
}
