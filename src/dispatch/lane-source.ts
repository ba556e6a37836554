import { foundByKeys, limit, sql } from '../sql/sql.ts';
import type { Reader } from '../storage/database.ts';
import { DueFloor } from './due-floor.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { DueDelivery } from './slots.ts';

/**
 * Where the deliveries of one lane come from: the log, which is read onwards from the lane's cursor, and the outcomes that are due again.
 * Both are read ahead. What is in memory here may be dropped at any time: the rows are the truth.
 */
export class LaneSource {
  /** How far the log was read. */
  #readTo: number;
  /** Deliveries of the log that were read and have no outcome yet, as far as is known here. */
  readonly #open = new Set<number>();
  /** Those of them that were not sent yet, in the order of the log. */
  readonly #first: number[] = [];
  /** Deliveries that are due again, the longest due first. */
  readonly #again: number[] = [];
  /** Sent or about to be, until their settlement is committed. */
  readonly #claimed = new Set<number>();
  /** Where a read for those that are due again begins, unless at the start. */
  readonly #floor: DueFloor | undefined;
  #wasAgain = false;
  /** Set for a strict order while nothing may be taken before the next read. */
  #isHeld = false;
  #isStrict = false;
  #cursor: number;
  /** The position up to which everything was read, and nothing can have appeared since. */
  #sure: number;
  /** Where the next read goes on, if the last one has not reached the end of the log. */
  #readOnFrom: number | undefined;
  /** Whether something was committed since the reads began that are gone on with: it may lie behind them. */
  #hasChanged = false;
  #sweptAt = Number.NEGATIVE_INFINITY;
  /** Where the sweep goes on that is under way. */
  #sweepFrom: number | undefined;
  /** Whether the last read was one of a sweep. */
  #isSweep = false;
  /** Whether what was read ahead is forgotten, and nothing was read since. */
  #isDropped = false;
  /** False when a read has shown that nothing more is due. */
  mayHaveMore = true;
  /** When the first delivery is due again that was not at the last read, in milliseconds since 1970. */
  nextDue: number | undefined;

  /** `leavesDeadRows` as in `Names`. */
  constructor(cursor: number, { leavesDeadRows }: { readonly leavesDeadRows: boolean }) {
    this.#readTo = cursor;
    this.#cursor = cursor;
    this.#sure = cursor;
    this.#floor = leavesDeadRows ? new DueFloor() : undefined;
  }

  get isEmpty(): boolean {
    return this.#isHeld || (this.#first.length === 0 && this.#again.length === 0);
  }

  get isDropped(): boolean {
    return this.#isDropped;
  }

  get claimedCount(): number {
    return this.#claimed.size;
  }

  isClaimed(event: number): boolean {
    return this.#claimed.has(event);
  }

  /** The position up to which every delivery of the lane has an outcome or is to have none. */
  get low(): number {
    return Math.min(this.#sure, this.#openFrom);
  }

  /** The position before the first delivery of those that were read that has no outcome yet. */
  get #openFrom(): number {
    let from = this.#readTo;
    for (const event of this.#open) if (event <= from) from = event - 1;
    return from;
  }

  /** Begins at another place of the log: that of the stored cursor. */
  restart(cursor: number): void {
    this.#cursor = cursor;
    this.drop();
    this.#readTo = cursor;
    this.#sure = cursor;
    this.mayHaveMore = true;
    this.#isDropped = false;
  }

  /** Makes the lane read again, as something new was committed. */
  noteChange(): void {
    this.mayHaveMore = true;
    this.#isDropped = false;
    this.#hasChanged = this.#readOnFrom !== undefined && this.#readOnFrom > this.#sure;
  }

  /** Forgets what was read ahead: it is read again when something changes. */
  drop(): void {
    this.#readTo = Math.max(this.#cursor, this.#openFrom);
    this.#sure = Math.min(this.#sure, this.#readTo);
    this.#readOnFrom = undefined;
    this.#sweepFrom = undefined;
    for (const event of this.#open) if (!this.#claimed.has(event)) this.#open.delete(event);
    this.#first.length = 0;
    this.#again.length = 0;
    this.#isHeld = false;
    this.mayHaveMore = false;
    this.#isDropped = true;
    this.nextDue = undefined;
  }

  /** Removes and returns a delivery that is due: in turns one of the log and one that was attempted before. */
  take(mayRetry: boolean): DueDelivery | undefined {
    if (this.#isHeld) return undefined;
    const isAgain =
      (mayRetry || this.#isStrict) && this.#again.length > 0 && (this.#first.length === 0 || !this.#wasAgain);
    const event = isAgain ? this.#again.shift() : this.#first.shift();
    if (event === undefined) return undefined;
    this.#wasAgain = isAgain;
    return { event, isRetry: isAgain };
  }

  /** Gives back a delivery that was taken and cannot be sent now. */
  putBack({ event, isRetry }: DueDelivery): void {
    if (isRetry) this.mayHaveMore = true;
    else if (this.#open.has(event)) this.#first.unshift(event);
  }

  claim(event: number): void {
    this.#claimed.add(event);
    // Whether it comes again decides what follows it.
    this.#isHeld = this.#isStrict;
  }

  /** Ends a claim, or lets go of a delivery that was taken and is not to be sent: its outcome is stored. */
  release(event: number): void {
    this.#claimed.delete(event);
    this.#open.delete(event);
  }

  /** Ends the claim of a delivery that is still to be sent. */
  abort(event: number): void {
    this.#claimed.delete(event);
    if (this.#open.has(event)) this.#first.unshift(event);
  }

  /** Reads ahead what is due `now`. Returns how many rows that took. */
  async read(reader: Reader, look: Look): Promise<number> {
    this.mayHaveMore = false;
    this.#isDropped = false;
    this.#isHeld = false;
    const { now, order } = look;
    this.#isStrict = order === 'strict';
    if (this.#isStrict) this.#again.length = 0;
    const from = this.#begin(look);
    const walkMax = walkMaxOf(walkMin + Math.min(this.#readTo - from, behindMax));
    const retriesMax = retriesAhead + this.#claimed.size;
    const since = this.#floor?.beginAt(now) ?? 0;
    const batch = await readDue(reader, { ...look, from, walkMax, since, retriesMax });
    for (const event of batch.first) {
      if (this.#open.has(event)) continue;
      // Also one on its way that was taken before what was read was dropped: until it has an outcome, the cursor stays before it.
      this.#open.add(event);
      if (!this.#claimed.has(event)) this.#first.push(event);
    }
    for (const [event] of batch.again) if (!this.#claimed.has(event)) this.#again.push(event);
    if (this.#isStrict) this.#hold(batch, now);
    this.#floor?.note(now, batch.firstDue);
    this.nextDue = batch.nextDue;
    const hasRest = batch.walked === walkMax;
    this.#goOn({ from, end: Math.max(from, hasRest ? batch.last : batch.end), hasRest }, look);
    const isSweeping = this.#isSweep || this.#sweepFrom !== undefined;
    if (isSweeping || hasRest || this.#hasChanged || batch.again.length === retriesMax)
      this.mayHaveMore = true;
    if (!hasRest && !this.#isSweep) this.#hasChanged = false;
    return batch.walked + batch.again.length;
  }

  /** Lets the first of all go first: nothing is sent while that is not due. */
  #hold({ again: [head] }: Due, now: number): void {
    if (head === undefined) return;
    const [event, due] = head;
    const isFirst = this.#first[0] === undefined || event < this.#first[0];
    if (!isFirst) this.#again.length = 0;
    else if (due > now) {
      this.#isHeld = true;
      this.nextDue = due;
    }
  }

  /**
   * Returns the position behind which a read begins. Where writers commit at the same time, an event may appear behind later ones: the
   * reads begin where that is ruled out. If that lies far back, as one transaction has been open for long, the events behind it are swept
   * through now and then, in turns with the other reads.
   */
  #begin({ now, decided }: Look): number {
    // What is decided for an account comes in the order of the log, but may lie far behind its end.
    const behind = decided === undefined ? Math.max(this.#sure, this.#readTo - behindMax) : this.#sure;
    const nearest = Math.min(this.#readTo, behind);
    const isSweepDue = now < this.#sweptAt || now >= this.#sweptAt + sweepEveryMs;
    if (this.#sure >= nearest) this.#sweepFrom = undefined;
    else if (isSweepDue) this.#sweepFrom ??= this.#sure;
    this.#isSweep = this.#sweepFrom !== undefined && !this.#isSweep;
    return this.#isSweep && this.#sweepFrom !== undefined ? this.#sweepFrom : (this.#readOnFrom ?? nearest);
  }

  /** Notes that everything was read from one position to another. */
  #goOn(
    { from, end, hasRest }: { readonly from: number; readonly end: number; readonly hasRest: boolean },
    { now, safe, decided }: Look,
  ): void {
    // What is safe was so before the read. What becomes safe later may have appeared since, so it is read once more.
    if (from <= this.#sure) this.#sure = Math.max(this.#sure, Math.min(end, safe, decided ?? safe));
    if (this.#isSweep) {
      this.#sweepFrom = hasRest && end < this.#readTo - behindMax ? end : undefined;
      if (this.#sweepFrom === undefined) this.#sweptAt = now;
    } else {
      this.#readOnFrom = hasRest ? end : undefined;
      this.#readTo = Math.max(this.#readTo, end);
    }
    const nextSweep = Math.max(now, this.#sweptAt + sweepEveryMs);
    const isUnsure = decided === undefined && this.#sure < this.#readTo - behindMax;
    // Nothing else would come back for what is far behind: others look for work by clocks of their own.
    if (isUnsure) this.nextDue = Math.min(this.nextDue ?? nextSweep, nextSweep);
  }
}

export interface Look {
  readonly endpoint: number;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** No event at or before this position can appear any more. */
  readonly safe: number;
  /** Up to where it was decided before which events an endpoint of an account is told of; undefined for one without owner. */
  readonly decided?: number | undefined;
  readonly order?: Endpoint['order'];
}

/** How many positions before the last one a read begins while the safe position lies further back. */
export const behindMax = 2_000;
export const sweepEveryMs = 5_000;
const retriesAhead = 256;
const walkMin = 256;

/** How many deliveries of the lane one look walks. Few different numbers: each is a statement of its own, planned for it. */
function walkMaxOf(count: number): number {
  let max = walkMin;
  while (max < count) max *= 2;
  return max;
}

interface Due {
  /** Deliveries of the log without an outcome, in its order. */
  readonly first: readonly number[];
  /** Those that are due again, the longest due first; of a strict order the first one, whenever that is due. */
  readonly again: readonly (readonly [event: number, due: number])[];
  /** When the first of them was due. */
  readonly firstDue: number | undefined;
  /** When the first one is due that is not due yet. */
  readonly nextDue: number | undefined;
  /** The end of the log, the last of the lane's deliveries that were walked, and how many these are. */
  readonly end: number;
  readonly last: number;
  readonly walked: number;
}

/** What a read is limited to: deliveries of the lane behind `from`, and those that are due again since then. */
interface DueRange {
  readonly from: number;
  readonly walkMax: number;
  readonly since: number;
  readonly retriesMax: number;
}

/**
 * Reads what a lane may send by one statement, as each wake-up needs all of it. It finds the lane's own deliveries by an index: with a
 * thousand endpoints, the log has a thousand times as many.
 */
export async function readDue(
  reader: Reader,
  look: Pick<Look, 'endpoint' | 'now' | 'order' | 'safe'> & DueRange,
): Promise<Due> {
  const { names } = reader;
  const { endpoint, now, since, from, walkMax, retriesMax, order = 'none', safe } = look;
  const outcome = names.table('$outcome');
  const pending = sql`FROM ${outcome} WHERE ${names.instance.condition} AND status = 'pending' AND endpoint = ${endpoint}`;
  const isStrict = order === 'strict';
  // Where an event may still appear before others, a strict order waits until none can.
  const upTo = isStrict && names.isConcurrent ? sql` AND event <= ${safe}` : sql``;
  const again = isStrict
    ? sql`due IS NOT NULL${upTo} ORDER BY event`
    : sql`due >= ${since} AND due <= ${now} ORDER BY due, event`;
  // No join: before PostgreSQL has statistics of the table, it would read all outcomes of the endpoint for each delivery.
  const outcomeOf = sql`
    SELECT o.event FROM ${outcome} o
    WHERE ${names.instance.conditionOf('o')} AND o.event = w.event AND o.endpoint = ${endpoint} AND o.event > ${from}`;
  const delivery = sql`FROM ${names.table('$delivery')} WHERE ${names.instance.condition}`;
  const due = sql`
    WITH walked AS MATERIALIZED (
      SELECT event ${delivery} AND endpoint = ${endpoint} AND event > ${from}${upTo} ORDER BY event${limit(walkMax)})
    SELECT 0, w.event, 0 FROM walked w WHERE (${outcomeOf}) IS NULL
    UNION ALL SELECT 1, max(event), count(*) FROM walked
    UNION ALL SELECT 4, max(event), 0 ${delivery} AND event > ${from}${upTo}
    UNION ALL SELECT * FROM (
      SELECT 2, event, due ${pending} AND ${again} LIMIT CAST(${retriesMax} AS bigint)) AS again
    UNION ALL SELECT 3, 0, min(due) ${pending} AND due > ${now}`;
  const rows = await reader.tuples(foundByKeys(due));
  const of = (kind: number): [number, number][] =>
    rows.flatMap(([its, event, number]) => (Number(its) === kind ? [[Number(event), Number(number)]] : []));
  const dueAgain = of(2).toSorted(([a, aDue], [b, bDue]) => (isStrict ? 0 : aDue - bDue) || a - b);
  const [[last, walked] = [0, 0]] = of(1);
  const [[end] = [0]] = of(4);
  const nextDue = rows.find(([kind]) => Number(kind) === 3)?.[2];
  return {
    first: of(0)
      .map(([event]) => event)
      .toSorted((a, b) => a - b),
    again: dueAgain,
    firstDue: dueAgain[0]?.[1],
    nextDue: typeof nextDue === 'number' ? nextDue : undefined,
    end,
    last,
    walked,
  };
}
