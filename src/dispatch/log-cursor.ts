import type { Look } from './read-due.ts';

/** How many positions before the last one a read begins while the safe position lies further back. */
export const behindMax = 2_000;
export const sweepEveryMs = 5_000;

/**
 * How far a lane has read the log. Where writers commit at the same time, an event may appear behind later ones: reads begin where that is
 * ruled out. If that lies far back, as one transaction has been open for long, the events behind it are swept through now and then, in
 * turns with the other reads.
 *
 * ```
 *   start         sure              read - behindMax          read            end of the log
 * ────┼─────────────┼───────────────────────┼───────────────────┼────────────────────┼──▶ positions
 *     │  no event   │   an event may appear here anywhere       │   not read yet     │
 *     │  can appear │◀── swept every 5 s ──▶│◀── each read ────▶│◀── each read ─────▶│
 * ```
 *
 * It holds positions alone and reads nothing: `begin` returns where the next read begins, and `advance` is called with what it covered.
 */
export class LogCursor {
  /** Where the reads begin after a restart. */
  #start: number;
  /** The position up to which everything was read, and nothing can have appeared since. */
  #sure: number;
  #readTo: number;
  /** Where the next read goes on, if the last one has not reached the end of the log. */
  #readOnFrom: number | undefined;
  /** Whether something was committed since the reads began that are gone on with: it may lie behind them. */
  #hasChanged = false;
  #sweptAt = Number.NEGATIVE_INFINITY;
  /** Where the sweep goes on that is under way. */
  #sweepFrom: number | undefined;
  /** Whether the last read was one of a sweep. */
  #isSweep = false;

  constructor(start: number) {
    this.#start = start;
    this.#sure = start;
    this.#readTo = start;
  }

  get sure(): number {
    return this.#sure;
  }

  get readTo(): number {
    return this.#readTo;
  }

  /** Begins at another place of the log. */
  restart(start: number): void {
    this.#start = start;
    this.#sure = start;
    this.#readTo = start;
    this.#readOnFrom = undefined;
    this.#sweepFrom = undefined;
  }

  noteChange(): void {
    this.#hasChanged = this.#readOnFrom !== undefined && this.#readOnFrom > this.#sure;
  }

  /** Goes back to where what was read is still known. */
  goBack(position: number): void {
    this.#readTo = Math.max(this.#start, position);
    this.#sure = Math.min(this.#sure, this.#readTo);
    this.#readOnFrom = undefined;
    this.#sweepFrom = undefined;
  }

  /** Returns the position behind which a read begins. */
  begin({ now, decided }: Look): number {
    // What is decided for an account comes in the order of the log, but may lie far behind its end.
    const behind = decided === undefined ? Math.max(this.#sure, this.#readTo - behindMax) : this.#sure;
    const nearest = Math.min(this.#readTo, behind);
    const isSweepDue = now < this.#sweptAt || now >= this.#sweptAt + sweepEveryMs;
    if (this.#sure >= nearest) this.#sweepFrom = undefined;
    else if (isSweepDue) this.#sweepFrom ??= this.#sure;
    this.#isSweep = this.#sweepFrom !== undefined && !this.#isSweep;
    return this.#isSweep && this.#sweepFrom !== undefined ? this.#sweepFrom : (this.#readOnFrom ?? nearest);
  }

  /** Notes what a read has covered. */
  advance({ from, end, hasRest }: Covered, { now, safe, decided }: Look): Advance {
    // What is safe was so before the read. What becomes safe later may have appeared since, so it is read once more.
    if (from <= this.#sure) this.#sure = Math.max(this.#sure, Math.min(end, safe, decided ?? safe));
    if (this.#isSweep) {
      this.#sweepFrom = hasRest && end < this.#readTo - behindMax ? end : undefined;
      if (this.#sweepFrom === undefined) this.#sweptAt = now;
    } else {
      this.#readOnFrom = hasRest ? end : undefined;
      this.#readTo = Math.max(this.#readTo, end);
    }
    const isSweeping = this.#isSweep || this.#sweepFrom !== undefined;
    const mayHaveMore = isSweeping || hasRest || this.#hasChanged;
    if (!hasRest && !this.#isSweep) this.#hasChanged = false;
    // Nothing else would come back for what is far behind: others look for work by clocks of their own.
    const isUnsure = decided === undefined && this.#sure < this.#readTo - behindMax;
    return { mayHaveMore, nextSweep: isUnsure ? Math.max(now, this.#sweptAt + sweepEveryMs) : undefined };
  }
}

/** The positions that a read has covered, and whether the log goes on behind them. */
interface Covered {
  readonly from: number;
  readonly end: number;
  readonly hasRest: boolean;
}

interface Advance {
  readonly mayHaveMore: boolean;
  /** When a sweep is due at the latest, in milliseconds since 1970. */
  readonly nextSweep: number | undefined;
}
