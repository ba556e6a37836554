import type { Due } from './read-due.ts';
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
  readonly #again: number[] = [];
  /** Sent or about to be, until their settlement is committed. */
  readonly #claimed = new Set<number>();
  #wasAgain = false;
  /** Set for a strict order while nothing may be taken before the next read. */
  #isHeld = false;
  #isStrict = false;

  get isEmpty(): boolean {
    return this.#isHeld || (this.#first.length === 0 && this.#again.length === 0);
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
    const isAgain =
      (mayRetry || this.#isStrict) && this.#again.length > 0 && (this.#first.length === 0 || !this.#wasAgain);
    const event = isAgain ? this.#again.shift() : this.#first.shift();
    if (event === undefined) return undefined;
    this.#wasAgain = isAgain;
    return { event, isRetry: isAgain };
  }

  /** Puts a delivery of the log that was taken or claimed, and is still to be sent, before all others. */
  putBack(event: number): void {
    this.#claimed.delete(event);
    if (this.#open.has(event)) this.#first.unshift(event);
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
  beginRead(isStrict: boolean): void {
    this.#isHeld = false;
    this.#isStrict = isStrict;
    if (isStrict) this.#again.length = 0;
  }

  /** Adds what a read has found. Returns when a strict order goes on, if it waits for its first delivery, in milliseconds since 1970. */
  add(due: Due, now: number): number | undefined {
    for (const event of due.first) {
      if (this.#open.has(event)) continue;
      // Also one on its way that was taken before what was read was dropped: until it has an outcome, the cursor stays before it.
      this.#open.add(event);
      if (!this.#claimed.has(event)) this.#first.push(event);
    }
    for (const [event] of due.again) if (!this.#claimed.has(event)) this.#again.push(event);
    return this.#isStrict ? this.#hold(due, now) : undefined;
  }

  /** Sends the first of all first: nothing is taken while that is not due. */
  #hold({ again: [head] }: Due, now: number): number | undefined {
    if (head === undefined) return undefined;
    const [event, due] = head;
    const isFirst = this.#first[0] === undefined || event < this.#first[0];
    if (!isFirst) this.#again.length = 0;
    else if (due > now) {
      this.#isHeld = true;
      return due;
    }
    return undefined;
  }
}
