import { foundByKeys, sql } from '../sql/sql.ts';
import type { Reader } from '../storage/database.ts';
import { readTrimmed } from './trimmed.ts';

/** How far the log can be read by a reader that remembers where it was. */
export interface SafeEnd {
  /** The position up to which no event can appear any more. */
  readonly safePosition: number;
  /** Polls more often for a moment, because a reader waits for the position to advance. */
  hurry(): void;
  /** Reads the position again, unless that was just done. What lies behind it is read once more by each look at a lane. */
  refresh(): void;
  /** Resolves when the position has passed everything that is in the log now, or after `delayMs`. Hurries. */
  nextSafe(delayMs: number): Promise<void>;
}

/** Of a log that one process writes, in the order of its commits. */
export const alwaysSafe: SafeEnd = {
  safePosition: Number.MAX_SAFE_INTEGER,
  hurry: () => undefined,
  refresh: () => undefined,
  nextSafe: () => Promise.resolve(),
};

/** The state of the log, read in one statement. */
export interface LogState {
  /** The last position that was drawn. */
  readonly last: number;
  /** Every transaction with a lower id is over (PostgreSQL 18, section 9.28.9). */
  readonly xmin: bigint;
  /** The id of the reading transaction, if it drew one: every transaction that had an id before has a lower one. */
  readonly xid: bigint | undefined;
}

/**
 * The position up to which no event can appear any more, where several transactions write at the same time. A position is drawn before
 * its commit, so an event may become visible behind one with a later position. A transaction has its id before it draws a position, as
 * it has written the record before. So when all transactions that had an id when a position was the last one are over, all events up
 * to it are visible, or never will be.
 */
export class LogHorizon {
  #safe = 0;
  #before = 0;
  /** A position, and an id that is higher than that of each transaction that may have drawn it or one before it. */
  #candidate: { readonly position: number; readonly xid: bigint } | undefined;

  get value(): number {
    return this.#safe;
  }

  /**
   * Whether the next state needs an id. The end of a snapshot does not replace it: that is one more than the highest id of a transaction
   * that is over, and those that are open may have higher ones.
   */
  get needsId(): boolean {
    return this.#candidate === undefined && this.#before > this.#safe;
  }

  /** Notes a state of the log, in the order in which the states were read. */
  note({ last, xmin, xid }: LogState): void {
    if (this.#candidate !== undefined && xmin > this.#candidate.xid) {
      this.#safe = Math.max(this.#safe, this.#candidate.position);
      this.#candidate = undefined;
    }
    // The id may have been drawn before the position was read that stands in the same state, hence the one before.
    if (xid !== undefined && this.#before > this.#safe) this.#candidate ??= { position: this.#before, xid };
    this.#before = last;
  }
}

/** Reads the state of the log. Drawing an id costs a few bytes in PostgreSQL's log, so it is done only where the position moves on. */
export async function readLogState(
  reader: Reader,
  { needsId }: Pick<LogHorizon, 'needsId'>,
): Promise<LogState> {
  const id = needsId ? sql`pg_current_xact_id()::text` : sql`NULL::text`;
  const [row] = await reader.tuples(sql`
    SELECT (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM chancery.event_position_seq),
      pg_snapshot_xmin(pg_current_snapshot())::text, ${id}`);
  const [last, xmin, xid] = row ?? [];
  return {
    last: Number(last),
    xmin: BigInt(String(xmin)),
    xid: typeof xid === 'string' ? BigInt(xid) : undefined,
  };
}

/**
 * Whether a position is later than any that the log has drawn: its event was lost when the data was restored to an earlier time. Later
 * events would get positions before it, and a reader that goes on there would miss them.
 */
export async function isAhead(reader: Reader, position: number): Promise<boolean> {
  const { names } = reader;
  if (names.isConcurrent) return position > (await readLogState(reader, { needsId: false })).last;
  const [row] = await reader.tuples(
    foundByKeys(sql`SELECT max(position) FROM ${names.table('$event')} WHERE ${names.instance.condition}`),
  );
  return position > Math.max(Number(row?.[0] ?? 0), (await readTrimmed(reader)).position);
}
