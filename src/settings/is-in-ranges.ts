import { isInCidr, parseCidr, type Cidr } from '../base/cidr.ts';

const known = new WeakMap<readonly string[], readonly Cidr[]>();

/** True when an address is in one of the ranges of a list of the settings. The ranges were checked when they were saved. */
export function isInRanges(address: Uint8Array, texts: readonly string[]): boolean {
  if (texts.length === 0) return false;
  const ranges = known.get(texts) ?? texts.map(parseCidr);
  known.set(texts, ranges);
  return ranges.some((range) => isInCidr(address, range));
}
