/**
 * A map that forgets what is not asked for, in two generations of a size each: as good as an LRU here, and a hit costs one look-up
 * instead of two changes of a map. What is unused for a whole generation is dropped.
 */
export class GenerationMap<Key, Value> {
  readonly #sizeMax: number;
  readonly #sizeOf: (value: Value, key: Key) => number;
  readonly #forgotten: ((value: Value) => void) | undefined;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();
  /** Of all that went into the young one. */
  #size = 0;

  /** `sizeMax` entries a generation, or as many as are that large together. `forgotten` is told of what is dropped. */
  constructor(
    sizeMax: number,
    sizeOf: (value: Value, key: Key) => number = () => 1,
    forgotten?: (value: Value) => void,
  ) {
    this.#sizeMax = sizeMax;
    this.#sizeOf = sizeOf;
    this.#forgotten = forgotten;
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
    if (this.#size + size <= this.#sizeMax) {
      this.#size += size;
      this.#young.set(key, value);
      return;
    }
    const dropped = this.#old;
    this.#old = this.#young;
    this.#young = new Map([[key, value]]);
    this.#size = size;
    this.#forget(dropped);
  }

  clear(): void {
    const dropped = new Map([...this.#old, ...this.#young]);
    this.#young = new Map();
    this.#old = new Map();
    this.#size = 0;
    this.#forget(dropped);
  }

  /** All of these but what was asked for in time, and has gone on into a younger generation. */
  #forget(dropped: ReadonlyMap<Key, Value>): void {
    if (this.#forgotten === undefined) return;
    for (const [key, value] of dropped)
      if (this.#young.get(key) !== value && this.#old.get(key) !== value) this.#forgotten(value);
  }
}
