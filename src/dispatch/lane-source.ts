import type { Reader } from '../storage/database.ts';
import { DueFloor } from './due-floor.ts';
import { DueQueue } from './due-queue.ts';
import { behindMax, LogCursor } from './log-cursor.ts';
import { type Look, readDue } from './read-due.ts';
import { readCreated } from './batch-members.ts';
import type { DueDelivery } from './slots.ts';

/**
 * Where the deliveries of one lane come from: the log, which is read onwards from the lane's cursor, and the outcomes that are due again.
 * Both are read ahead. What is in memory here may be dropped at any time: the rows are the truth.
 *
 * ```
 *   LogCursor ── from ──▶ readDue (one statement) ── due ──▶ DueQueue ── take ──▶ the lane
 *       ▲                        │
 *       └──────── covered ───────┘
 * ```
 */
export class LaneSource {
  readonly #log: LogCursor;
  readonly #queue = new DueQueue();
  /** Where a read for those that are due again begins, unless at the start. */
  readonly #floor: DueFloor | undefined;
  /** Whether what was read ahead is forgotten, and nothing was read since. */
  #isDropped = false;
  /** False when a read has shown that nothing more is due. */
  mayHaveMore = true;
  /** When the first delivery is due again that was not at the last read, in milliseconds since 1970. */
  nextDue: number | undefined;

  /** `leavesDeadRows` as in `Names`. */
  constructor(cursor: number, { leavesDeadRows }: { readonly leavesDeadRows: boolean }) {
    this.#log = new LogCursor(cursor);
    this.#floor = leavesDeadRows ? new DueFloor() : undefined;
  }

  get isEmpty(): boolean {
    return this.#queue.isEmpty;
  }

  get isDropped(): boolean {
    return this.#isDropped;
  }

  get claimedCount(): number {
    return this.#queue.claimedCount;
  }

  isClaimed(event: number): boolean {
    return this.#queue.isClaimed(event);
  }

  /** The position up to which every delivery of the lane has an outcome or is to have none. */
  get low(): number {
    return Math.min(this.#log.sure, this.#queue.openFrom(this.#log.readTo));
  }

  /** Begins at another place of the log: that of the stored cursor. */
  restart(cursor: number): void {
    this.drop();
    this.#log.restart(cursor);
    this.mayHaveMore = true;
    this.#isDropped = false;
  }

  /** Makes the lane read again, as something new was committed. */
  noteChange(): void {
    this.mayHaveMore = true;
    this.#isDropped = false;
    this.#log.noteChange();
  }

  /** Forgets what was read ahead: it is read again when something changes. */
  drop(): void {
    this.#log.goBack(this.#queue.openFrom(this.#log.readTo));
    this.#queue.drop();
    this.mayHaveMore = false;
    this.#isDropped = true;
    this.nextDue = undefined;
  }

  take(mayRetry: boolean): DueDelivery | undefined {
    const due = this.#queue.take(mayRetry);
    // Only a read finds how long those that are left have waited.
    if (due?.isRetry === false && this.#queue.waiting !== undefined) this.mayHaveMore = true;
    return due;
  }

  /** Returns a delivery that was taken and cannot be sent now, with those that were taken with it. */
  putBack({ event, isRetry, batch }: DueDelivery): void {
    if (isRetry) this.mayHaveMore = true;
    else for (const one of (batch?.events ?? [event]).toReversed()) this.#queue.putBack(one);
  }

  claim(event: number): void {
    this.#queue.claim(event);
  }

  release(event: number): void {
    this.#queue.release(event);
  }

  /** Ends the claim of a delivery that is still to be sent. */
  abort(event: number): void {
    this.#queue.putBack(event);
  }

  /** Reads ahead what is due `now`. Returns how many rows that took. */
  async read(reader: Reader, look: Look): Promise<number> {
    const { now, order, batch } = look;
    this.mayHaveMore = false;
    this.#isDropped = false;
    this.#queue.beginRead(order === 'strict', look.batch?.max ?? 0);
    const from = this.#log.begin(look);
    const walkMax = walkMaxOf(walkMin + Math.min(this.#log.readTo - from, behindMax));
    const ahead = batch ? retriesAhead * retriesOfBatches : retriesAhead;
    const retriesMax = ahead + this.#queue.claimedCount;
    const since = this.#floor?.beginAt(now) ?? 0;
    const due = await readDue(reader, { ...look, from, walkMax, since, retriesMax });
    const heldUntil = this.#queue.add(due, now);
    this.#floor?.note(now, due.firstDue);
    const hasRest = due.walked === walkMax;
    const end = Math.max(from, hasRest ? due.last : due.end);
    const { mayHaveMore, nextSweep } = this.#log.advance({ from, end, hasRest }, look);
    if (mayHaveMore || due.again.length === retriesMax) this.mayHaveMore = true;
    this.nextDue = earliest(heldUntil ?? due.nextDue, nextSweep);
    if (batch) this.nextDue = earliest(this.nextDue, await this.#waitForOthers(reader, look, batch.waitMs));
    return due.walked + due.again.length;
  }

  /** Returns until when the deliveries of the log wait for others; undefined when they do not. */
  async #waitForOthers(reader: Reader, { now }: Look, waitMs: number): Promise<number | undefined> {
    const { waiting } = this.#queue;
    if (waiting === undefined) return undefined;
    const created = waitMs === 0 ? now : await readCreated(reader, waiting);
    // The clock of the node that has made the event may be ahead.
    const until = Math.min(created, now) + waitMs;
    this.#queue.noteWaited(until <= now);
    return until <= now ? undefined : until;
  }
}

function earliest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

const retriesAhead = 256;
/** As many times more of them where they are sent in batches. */
const retriesOfBatches = 8;
const walkMin = 256;

/** How many deliveries of the lane one look walks. Few different numbers: each is a statement of its own, planned for it. */
function walkMaxOf(count: number): number {
  let max = walkMin;
  while (max < count) max *= 2;
  return max;
}
