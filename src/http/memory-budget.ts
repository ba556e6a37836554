/**
 * A bound on the memory that clients hold together, for example with bodies that are half sent or answers that are not read. Beyond it
 * the oldest holding is given up: most last for less than a second, and a client that fills the memory on purpose never ends its own.
 */
export class MemoryBudget {
  readonly #bytesMax: number;
  /** The bytes of each holding by its `giveUp` function, oldest first. */
  readonly #held = new Map<() => void, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The bytes of all holdings together. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Sets the bytes of a holding. May call `giveUp` of this and of other holdings before it returns. */
  hold(giveUp: () => void, bytes: number): void {
    this.#bytes += bytes - (this.#held.get(giveUp) ?? 0);
    this.#held.set(giveUp, bytes);
    for (const oldest of this.#held.keys()) {
      if (this.#bytes <= this.#bytesMax) return;
      this.release(oldest);
      oldest();
    }
  }

  /** Ends a holding, if it has not ended yet. */
  release(giveUp: () => void): void {
    this.#bytes -= this.#held.get(giveUp) ?? 0;
    this.#held.delete(giveUp);
  }
}
