/** A state that was surely there at some moment between these two; a write has made it then. */
export interface Seen {
  readonly index: number;
  readonly isWrite: boolean;
  readonly startMs: number;
  readonly endMs: number;
}

/** Which states of a record somebody can have met, by what others were told before they asked and after they were answered. */
export class Bounds {
  readonly #ends: readonly { readonly ms: number; readonly most: number }[];
  readonly #starts: readonly { readonly ms: number; readonly least: number }[];
  readonly #last: number;

  constructor(seen: readonly Seen[], last: number) {
    this.#last = last;
    let most = 0;
    this.#ends = seen
      .toSorted((one, other) => one.endMs - other.endMs)
      .map(({ endMs, index }) => ({ ms: endMs, most: (most = Math.max(most, index)) }));
    let least = last;
    this.#starts = seen
      .toSorted((one, other) => other.startMs - one.startMs)
      .map(({ startMs, index, isWrite }) => {
        least = Math.min(least, isWrite ? index - 1 : index);
        return { ms: startMs, least };
      })
      .toReversed();
  }

  /** The first and the last of them for a request of this time. */
  range(startMs: number, endMs: number): readonly [number, number] {
    const ended = countUntil(this.#ends, ({ ms }) => ms < startMs);
    const begun = countUntil(this.#starts, ({ ms }) => ms <= endMs);
    return [this.#ends[ended - 1]?.most ?? 0, this.#starts[begun]?.least ?? this.#last];
  }
}

/** Of a sorted list, how many at its beginning are so. */
function countUntil<Item>(items: readonly Item[], isSo: (item: Item) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items[middle];
    if (item !== undefined && isSo(item)) low = middle + 1;
    else high = middle;
  }
  return low;
}
