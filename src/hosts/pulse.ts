/** How often the front looks whether a host turns. */
export const lookMs = 100;

/** What a look has found: the thread has just stopped turning, or turns again after it had; else undefined. */
export type PulseChange = 'stopped' | 'back' | undefined;

/**
 * Whether the event loop of a thread turns, by a number in shared memory that the thread counts up. It counts looks, not time: where the thread
 * that looks did not turn either, nobody else is to blame.
 */
export class Pulse {
  readonly memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  readonly #beats = new Int32Array(this.memory);
  readonly #stillMin: number;
  #lastBeat = 0;
  #stillLooks = 0;

  /** A thread is still when it has not turned for so long. */
  constructor(stillMs: number) {
    this.#stillMin = Math.ceil(stillMs / lookMs);
  }

  get isStill(): boolean {
    return this.#stillLooks >= this.#stillMin;
  }

  /** For how long it has not turned. */
  get stillMs(): number {
    return this.#stillLooks * lookMs;
  }

  look(): PulseChange {
    const wasStill = this.isStill;
    const beat = Atomics.load(this.#beats, 0);
    this.#stillLooks = beat === this.#lastBeat ? this.#stillLooks + 1 : 0;
    this.#lastBeat = beat;
    if (wasStill === this.isStill) return undefined;
    return wasStill ? 'back' : 'stopped';
  }

  /** Begins anew, for another thread. */
  reset(): void {
    this.#stillLooks = 0;
  }
}
