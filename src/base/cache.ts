import { crc32 } from 'node:zlib';

/**
 * A cache in two generations, each of a maximum size: an entry that is not looked up for a whole generation is dropped. It evicts
 * about as well as an LRU, and a hit costs one look-up instead of two changes of a map.
 */
export class GenerationCache<Key, Value> {
  readonly #sizeMax: number;
  readonly #sizeOf: (value: Value, key: Key) => number;
  readonly #forgotten: ((value: Value) => void) | undefined;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();
  /** The total size of the entries added to the young generation. */
  #size = 0;

  /** `sizeMax` bounds the size of one generation; an entry has size 1 by default. `forgotten` is called for dropped entries. */
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

  /** Returns the cached value, or else makes and adds it. */
  findOrAdd(key: Key, make: (key: Key) => Value): Value {
    const cached = this.find(key);
    if (cached !== undefined) return cached;
    const value = make(key);
    this.add(key, value);
    return value;
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

  /** Returns all entries as they are now, without looking any of them up. */
  entries(): ReadonlyMap<Key, Value> {
    return new Map([...this.#old, ...this.#young]);
  }

  clear(): void {
    const dropped = this.entries();
    this.#young = new Map();
    this.#old = new Map();
    this.#size = 0;
    this.#forget(dropped);
  }

  /** Reports all of these as dropped, except those that a look-up has moved to a younger generation. */
  #forget(dropped: ReadonlyMap<Key, Value>): void {
    if (this.#forgotten === undefined) return;
    for (const [key, value] of dropped)
      if (this.#young.get(key) !== value && this.#old.get(key) !== value) this.#forgotten(value);
  }
}

/** How many keys a StateCache notes: a power of two. */
const notedMax = 4_096;

/**
 * A cache of values that hold for as long as something is in the state in which they were found. The state is an object that never
 * comes back, so that nothing has to be invalidated. A value is kept only if its key is added for the second time in a state: to
 * cache values that are used once made a list take half as long again.
 */
export class StateCache<Value> {
  readonly #entries: GenerationCache<string, { readonly state: object; readonly value: Value }>;
  /** Keys that were added, by the end of their checksums. The keys themselves would be a burden on the garbage collector. */
  readonly #sums = new Uint32Array(notedMax);
  readonly #states: (object | undefined)[] = Array.from({ length: notedMax });

  /** `sizeMax` bounds the size of one generation. */
  constructor(sizeMax: number, sizeOf: (value: Value, key: string) => number) {
    this.#entries = new GenerationCache(sizeMax, ({ value }, key) => sizeOf(value, key));
  }

  find(state: object, key: string): Value | undefined {
    const entry = this.#entries.find(key);
    return entry?.state === state ? entry.value : undefined;
  }

  add(state: object, key: string, value: Value): void {
    const sum = crc32(key);
    const place = sum % notedMax;
    const isSecond = this.#sums[place] === sum && this.#states[place] === state;
    this.#sums[place] = sum;
    this.#states[place] = state;
    if (isSecond) this.#entries.add(key, { state, value });
  }
}

/**
 * Returns a value that is derived from an object once and cached on it under this key. A copy of the object has none: the value would
 * be wrong for it.
 */
export function attached<Value>(owner: object, key: symbol, make: () => Value): Value {
  // The casts hold: only `make` is kept under the key, which its module keeps to itself.
  const cached = (owner as Readonly<Record<symbol, unknown>>)[key] as Value | undefined;
  if (cached !== undefined) return cached;
  const value = make();
  // Not enumerable, so that no copy takes it over.
  Object.defineProperty(owner, key, { value });
  return value;
}
