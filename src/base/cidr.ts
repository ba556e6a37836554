import { AppError } from './errors.ts';
import { addressBytes } from './address-bytes.ts';
import { readIpAddress } from './ip-address.ts';

/** A range of addresses. Plain members only, so that it can be posted to a worker. */
export interface Cidr {
  /** 4 or 16 bytes, none set beyond the prefix. */
  readonly address: readonly number[];
  readonly prefixLength: number;
}

const prefixText = /^\d{1,3}$/;
/** The prefix length of `::ffff:0:0/96`, whose addresses stand for IPv4 addresses. */
const mappedLength = 96;

/**
 * Reads `10.0.0.0/8` or `fd00::/8`. A single address is a range of one; a range of IPv4-mapped addresses becomes the range of the
 * IPv4 addresses. Throws `bad_request` with what was expected.
 */
export function parseCidr(text: string): Cidr {
  const [addressText = '', lengthText, ...rest] = text.trim().split('/');
  const address = addressBytes(addressText);
  if (address === null || rest.length > 0) {
    throw new AppError('bad_request', `expected a range like 10.0.0.0/8 or fd00::/8, found "${text}"`);
  }
  const bits = address.length * 8;
  const prefixLength = lengthText === undefined ? bits : Number(lengthText);
  if ((lengthText !== undefined && !prefixText.test(lengthText)) || prefixLength > bits) {
    throw new AppError(
      'bad_request',
      `expected a prefix length from 0 to ${bits} after the slash in "${text}"`,
    );
  }
  if (address.some((byte, index) => (byte & ~maskOf(index, prefixLength) & 0xff) !== 0)) {
    throw new AppError(
      'bad_request',
      `"${text}" has bits set after its first ${prefixLength}: is the prefix too short?`,
    );
  }
  const meant = prefixLength < mappedLength ? address : (readIpAddress(addressText) ?? address);
  return { address: [...meant], prefixLength: prefixLength - (address.length - meant.length) * 8 };
}

export function isInCidr(bytes: Uint8Array, range: Cidr): boolean {
  if (bytes.length !== range.address.length) return false;
  for (const [index, expected] of range.address.entries()) {
    const mask = maskOf(index, range.prefixLength);
    if (mask === 0) return true;
    if (((bytes[index] ?? 0) & mask) !== expected) return false;
  }
  return true;
}

/** Returns the bits of the byte at `index` that belong to the prefix. */
function maskOf(index: number, prefixLength: number): number {
  const bits = Math.min(8, Math.max(0, prefixLength - index * 8));
  return (0xff << (8 - bits)) & 0xff;
}
