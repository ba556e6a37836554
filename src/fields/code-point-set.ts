/** A set of Unicode code points: sorted, disjoint ranges as first, last, first, last, … */
export type CodePointSet = readonly number[];

export const codePointMax = 0x10ffff;

/** Returns the union of ranges, which may overlap and be in any order. */
export function unionOf(sets: readonly CodePointSet[]): CodePointSet {
  const ranges = sets.flatMap((set) => rangesOf(set)).toSorted((one, other) => one[0] - other[0]);
  const union: number[] = [];
  for (const [first, last] of ranges) {
    const previous = union.at(-1);
    if (previous === undefined || first > previous + 1) union.push(first, last);
    else if (last > previous) union[union.length - 1] = last;
  }
  return union;
}

/** Returns every code point that is not in the set. */
export function complementOf(set: CodePointSet): CodePointSet {
  const complement: number[] = [];
  let next = 0;
  for (const [first, last] of rangesOf(set)) {
    if (first > next) complement.push(next, first - 1);
    next = last + 1;
  }
  if (next <= codePointMax) complement.push(next, codePointMax);
  return complement;
}

/** Returns the code points of `set` from `first` to `last`. */
export function cut(set: CodePointSet, first: number, last: number): CodePointSet {
  return rangesOf(set).flatMap(([from, to]) => {
    const range = [Math.max(from, first), Math.min(to, last)];
    return (range[0] ?? 0) <= (range[1] ?? 0) ? range : [];
  });
}

/** Whether the set has the code point: a binary search, because `\pL` has over 600 ranges. */
export function hasCodePoint(set: CodePointSet, point: number): boolean {
  let low = 0;
  let high = set.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((set[middle] ?? 0) < point) low = middle + 1;
    else high = middle;
  }
  // Firsts are at even indexes, lasts at odd ones.
  return low % 2 === 1 || set[low] === point;
}

export function countOf(set: CodePointSet): number {
  let count = 0;
  for (let at = 0; at < set.length; at += 2) count += (set[at + 1] ?? 0) - (set[at] ?? 0) + 1;
  return count;
}

/** Returns the code point with the given rank, counted from 0. */
export function codePointAt(set: CodePointSet, rank: number): number {
  let left = rank;
  for (let at = 0; at < set.length; at += 2) {
    const first = set[at] ?? 0;
    const last = set[at + 1] ?? 0;
    if (left <= last - first) return first + left;
    left -= last - first + 1;
  }
  return -1;
}

export function rangesOf(set: CodePointSet): [first: number, last: number][] {
  const ranges: [number, number][] = [];
  for (let at = 0; at < set.length; at += 2) ranges.push([set[at] ?? 0, set[at + 1] ?? 0]);
  return ranges;
}
