/**
 * A bound for the memory that many clients hold together, as by bodies that are half sent or answers that nobody reads. Beyond it the
 * oldest holding is given up: most last for less than a second, and a client that fills the memory on purpose leaves its own standing.
 */
export class MemoryBudget {
  readonly #bytesMax: number;
  /** The bytes of each holding, by the function that gives it up; the oldest first. */
  readonly #held = new Map<() => void, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The bytes of all holdings. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Sets how much a holding takes by now. `giveUp` may be called here and now, as may those of others. */
  hold(giveUp: () => void, bytes: number): void {
    this.#bytes += bytes - (this.#held.get(giveUp) ?? 0);
    this.#held.set(giveUp, bytes);
    for (const oldest of this.#held.keys()) {
      if (this.#bytes <= this.#bytesMax) return;
      this.release(oldest);
      oldest();
    }
  }

  /** Ends a holding; nothing happens where it has ended or never begun. */
  release(giveUp: () => void): void {
    this.#bytes -= this.#held.get(giveUp) ?? 0;
    this.#held.delete(giveUp);
  }
}
