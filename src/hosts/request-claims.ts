/** How many requests one host may have at the same time. */
const placesMax = 1 << 16;

const decisions = { none: 0, run: 1, refuse: 2 } as const;

/**
 * Decides of each request whether its host has taken it, or the front has given it up before: exactly one of them wins, so that a
 * request that was answered 503 is never run. The memory is shared by the two threads.
 */
export class RequestClaims {
  readonly #places: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#places = new Int32Array(memory);
  }

  static newMemory(): SharedArrayBuffer {
    return new SharedArrayBuffer(placesMax * Int32Array.BYTES_PER_ELEMENT);
  }

  /** Called by the front before it sends a request. */
  open(token: number): void {
    Atomics.store(this.#places, token % placesMax, decisions.none);
  }

  /** Called by the host before it runs a request. Returns false for one that was given up. */
  take(token: number): boolean {
    return (
      Atomics.compareExchange(this.#places, token % placesMax, decisions.none, decisions.run) ===
      decisions.none
    );
  }

  /** Called by the front. Returns false for a request that its host has taken. */
  giveUp(token: number): boolean {
    return (
      Atomics.compareExchange(this.#places, token % placesMax, decisions.none, decisions.refuse) ===
      decisions.none
    );
  }
}
