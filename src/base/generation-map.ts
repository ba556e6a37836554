/**
 * A map that forgets what is not asked for, in two generations of a size each: as good as an LRU here, and a hit costs one look-up
 * instead of two changes of a map. What is unused for a whole generation is dropped.
 */
export class GenerationMap<Key, Value> {
  readonly #sizeMax: number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();

  /** `sizeMax` entries a generation. */
  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  find(key: Key): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.add(key, old);
    return old;
  }

  add(key: Key, value: Value): void {
    if (this.#young.size >= this.#sizeMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
