import type { Due, DueAgain } from './read-due.ts';
import type { DueDelivery } from './slots.ts';

/**
 * The deliveries of a lane that were read ahead, by the positions of their events, until each has an outcome:
 *
 * ```
 *   a read ──▶ first (new in the log) ──┐
 *                                       ├── take ──▶ taken ──▶ claim ──▶ claimed ──▶ release: settled
 *   a read ──▶ again (due once more) ───┘              │                    │
 *                ▲                                     └── putBack          └── abort: first again
 *                └── the next read, not this queue: its outcome says when it is due
 * ```
 *
 * What is of the log is also `open` until it is released: the lane's cursor stays before it.
 */
export class DueQueue {
  /** Deliveries of the log that were read and have no outcome yet, as far as is known here. */
  readonly #open = new Set<number>();
  /** Those of them that were not sent yet, in the order of the log. */
  readonly #first: number[] = [];
  /** Deliveries that are due again, the longest due first. */
  readonly #again: DueAgain[] = [];
  /** The most deliveries that are taken together as a batch; 0 where each is taken alone. */
  #batchMax = 0;
  /** Whether those of the log are enough for a batch, or have waited long enough for others. */
  #isReady = true;
  /** A strict order takes no delivery of the log behind this one, which is due again. */
  #strictEnd = Number.POSITIVE_INFINITY;
  /** Sent or about to be, until their settlement is committed. */
  readonly #claimed = new Set<number>();
  #wasAgain = false;
  /** Set for a strict order while nothing may be taken before the next read. */
  #isHeld = false;
  #isStrict = false;

  get isEmpty(): boolean {
    return this.#isHeld || (this.#again.length === 0 && (this.#first.length === 0 || !this.#isReady));
  }

  /** The first delivery of the log if it waits for others to make a batch with it. */
  get waiting(): number | undefined {
    return this.#isReady ? undefined : this.#first[0];
  }

  get claimedCount(): number {
    return this.#claimed.size;
  }

  isClaimed(event: number): boolean {
    return this.#claimed.has(event);
  }

  /** Returns the position before the first open delivery, or `end` where there is none before that. */
  openFrom(end: number): number {
    let from = end;
    for (const event of this.#open) if (event <= from) from = event - 1;
    return from;
  }

  /** Forgets what is not claimed: it is read again. */
  drop(): void {
    for (const event of this.#open) if (!this.#claimed.has(event)) this.#open.delete(event);
    this.#first.length = 0;
    this.#again.length = 0;
    this.#isHeld = false;
  }

  /** Removes and returns a delivery that is due: in turns one of the log and one that was attempted before. */
  take(mayRetry: boolean): DueDelivery | undefined {
    if (this.#isHeld) return undefined;
    const hasFirst = this.#first.length > 0 && this.#isReady;
    const isAgain =
      (mayRetry || this.#isStrict) &&
      this.#again.length > 0 &&
      (!hasFirst || this.#isStrict || !this.#wasAgain);
    if (!isAgain && !hasFirst) return undefined;
    this.#wasAgain = isAgain;
    if (this.#batchMax > 0) return isAgain ? this.#takeBatchAgain() : this.#takeBatch();
    const event = isAgain ? this.#again.shift()?.event : this.#first.shift();
    return event === undefined ? undefined : { event, isRetry: isAgain };
  }

  /** Takes deliveries of the log for a new batch. What is left waits again, unless it is enough for another one. */
  #takeBatch(): DueDelivery | undefined {
    const isBehind = (event: number): boolean => event > this.#strictEnd;
    const end = this.#first.findIndex(isBehind);
    const count = Math.min(this.#batchMax, end === -1 ? this.#first.length : end);
    const events = this.#first.splice(0, count);
    this.#isReady = this.#first.length >= this.#batchMax;
    const [event] = events;
    return event === undefined ? undefined : { event, isRetry: false, batch: { id: '', events } };
  }

  /** Takes a batch that is due again, or deliveries that belong to none for a new one. */
  #takeBatchAgain(): DueDelivery | undefined {
    const [head] = this.#again;
    if (head === undefined) return undefined;
    const events: number[] = [];
    const rest: DueAgain[] = [];
    const [first = Number.POSITIVE_INFINITY] = this.#first;
    let isOpen = true;
    for (const one of this.#again) {
      const isAlike = one.batch === head.batch && (one.batch !== '' || events.length < this.#batchMax);
      // A strict order leaves nothing out.
      const isNext = !this.#isStrict || (isOpen && one.event < first && one.due <= head.due);
      if (isAlike && isNext) events.push(one.event);
      else {
        isOpen = false;
        rest.push(one);
      }
    }
    this.#again.splice(0, this.#again.length, ...rest);
    return { event: head.event, isRetry: true, batch: { id: head.batch, events } };
  }

  /** Puts a delivery of the log that was taken or claimed, and is still to be sent, before all others. */
  putBack(event: number): void {
    this.#claimed.delete(event);
    if (!this.#open.has(event)) return;
    this.#first.unshift(event);
    this.#isReady = true;
  }

  claim(event: number): void {
    this.#claimed.add(event);
    // Whether it comes again decides what follows it.
    this.#isHeld = this.#isStrict;
  }

  /** Ends a claim, or removes a delivery that was taken and is not to be sent: its outcome is stored. */
  release(event: number): void {
    this.#claimed.delete(event);
    this.#open.delete(event);
  }

  /** Prepares for what a read finds. */
  beginRead(isStrict: boolean, batchMax: number): void {
    this.#isHeld = false;
    this.#isStrict = isStrict;
    this.#batchMax = batchMax;
    this.#strictEnd = Number.POSITIVE_INFINITY;
    if (isStrict) this.#again.length = 0;
  }

  /** Notes whether those of the log have waited long enough. */
  noteWaited(hasWaited: boolean): void {
    this.#isReady = hasWaited;
  }

  /** Adds what a read has found. Returns when a strict order goes on, if it waits for its first delivery, in milliseconds since 1970. */
  add(due: Due, now: number): number | undefined {
    for (const event of due.first) {
      if (this.#open.has(event)) continue;
      // Also one on its way that was taken before what was read was dropped: until it has an outcome, the cursor stays before it.
      this.#open.add(event);
      if (!this.#claimed.has(event)) this.#first.push(event);
    }
    for (const one of due.again) if (!this.#claimed.has(one.event)) this.#again.push(one);
    this.#isReady = this.#first.length >= this.#batchMax;
    return this.#isStrict ? this.#hold(due, now) : undefined;
  }

  /** Sends the first of all first: nothing is taken while that is not due. */
  #hold({ again: [head] }: Due, now: number): number | undefined {
    if (head === undefined) return undefined;
    const { event, due } = head;
    const isFirst = this.#first[0] === undefined || event < this.#first[0];
    if (!isFirst) {
      this.#again.length = 0;
      this.#strictEnd = event;
    } else if (due > now) {
      this.#isHeld = true;
      return due;
    }
    return undefined;
  }
}
