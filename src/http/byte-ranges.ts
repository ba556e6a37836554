import type { ByteRange } from '../files/blob-store.ts';

/** More than any player or reader of documents asks for at once. */
export const rangesMax = 16;

const range = /^(?:(\d+)-(\d*)|-(\d+))$/;

/**
 * Returns the ranges of a `Range` header for content of `size` bytes (RFC 9110 section 14.2), in their order; undefined where the
 * whole is to be sent, and none where no byte that was asked for exists. Whoever asks for too many ranges, or for a byte twice, gets
 * the whole: a few hundred bytes of a request could otherwise make the answer many times as long as the content.
 */
export function parseRanges(header: string | undefined, size: number): readonly ByteRange[] | undefined {
  const specifiers = /^bytes=(.+)$/i.exec(header ?? '')?.[1]?.split(',');
  if (specifiers === undefined || size === 0) return undefined;
  const ranges: ByteRange[] = [];
  let count = 0;
  for (const specifier of specifiers) {
    const text = specifier.trim();
    // A list may have empty elements.
    if (text === '') continue;
    const [, first, last, suffix] = range.exec(text) ?? [];
    if (first === undefined && suffix === undefined) return undefined;
    if (first !== undefined && last !== undefined && last !== '' && Number(last) < Number(first))
      return undefined;
    count += 1;
    if (count > rangesMax) return undefined;
    const byteRange =
      suffix === undefined
        ? { first: Number(first), last: Math.min(last ? Number(last) : Infinity, size - 1) }
        : { first: Math.max(0, size - Number(suffix)), last: size - 1 };
    if (byteRange.first <= byteRange.last) ranges.push(byteRange);
  }
  if (count === 0) return undefined;
  return isOverlapping(ranges) ? undefined : ranges;
}

function isOverlapping(ranges: readonly ByteRange[]): boolean {
  const sorted = ranges.toSorted((one, other) => one.first - other.first);
  return sorted.some(({ first }, at) => first <= (sorted[at - 1]?.last ?? -1));
}
