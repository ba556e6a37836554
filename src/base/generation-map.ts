/**
 * A map that forgets what is not asked for, in two generations of a size each: as good as an LRU here, and a hit costs one look-up
 * instead of two changes of a map. What is unused for a whole generation is dropped.
 */
export class GenerationMap<Key, Value> {
  readonly #sizeMax: number;
  readonly #sizeOf: (value: Value, key: Key) => number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();
  /** Of all that went into the young one. */
  #size = 0;

  /** `sizeMax` entries a generation, or as many as are that large together. */
  constructor(sizeMax: number, sizeOf: (value: Value, key: Key) => number = () => 1) {
    this.#sizeMax = sizeMax;
    this.#sizeOf = sizeOf;
  }

  find(key: Key): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.add(key, old);
    return old;
  }

  /** What is made where nothing is found is added. */
  findOrAdd(key: Key, make: (key: Key) => Value): Value {
    const found = this.find(key);
    if (found !== undefined) return found;
    const made = make(key);
    this.add(key, made);
    return made;
  }

  add(key: Key, value: Value): void {
    const size = this.#sizeOf(value, key);
    if (this.#size + size > this.#sizeMax) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#size = 0;
    }
    this.#size += size;
    this.#young.set(key, value);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#size = 0;
  }
}
