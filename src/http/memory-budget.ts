/**
 * What the bodies that are being read hold of memory together. Beyond it the one that has been read for longest is given up: most are
 * there within a second, and whoever fills the memory on purpose leaves theirs unfinished.
 */
export class BodyBudget {
  readonly #bytesMax: number;
  /** What each body holds, by what gives it up; the oldest first. */
  readonly #held = new Map<() => void, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Says how much a body holds by now. It may be given up here and now, as may others. */
  hold(giveUp: () => void, bytes: number): void {
    this.#bytes += bytes - (this.#held.get(giveUp) ?? 0);
    this.#held.set(giveUp, bytes);
    for (const oldest of this.#held.keys()) {
      if (this.#bytes <= this.#bytesMax) return;
      this.release(oldest);
      oldest();
    }
  }

  /** It is read, or of no use any more. */
  release(giveUp: () => void): void {
    this.#bytes -= this.#held.get(giveUp) ?? 0;
    this.#held.delete(giveUp);
  }
}
