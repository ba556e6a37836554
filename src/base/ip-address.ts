import { isIPv4, isIPv6 } from 'node:net';
import { AppError } from './errors.ts';

/** The first bytes of `::ffff:a.b.c.d`, which is how an IPv4 client appears to a socket that listens on both families. */
const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/** Returns the 4 or 16 bytes of an address in text, 4 for an IPv4-mapped one as well; undefined for anything else. */
export function readIpAddress(text: string): Uint8Array | undefined {
  const bytes = addressBytes(text);
  if (bytes === null) return undefined;
  const isMapped = bytes.length === 16 && mappedPrefix.every((byte, index) => bytes[index] === byte);
  return isMapped ? bytes.subarray(12) : bytes;
}

/** Returns an address as text, IPv6 fully expanded, so that each address has exactly one text. */
export function ipAddressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  const hex = Buffer.from(bytes).toString('hex');
  return (hex.match(/.{4}/g) ?? []).join(':');
}

const IPV6_GROUPS = 8;

/**
 * Returns the 4 or 16 bytes of an address in text, or null. Decisions are made on bytes, never on text: `::ffff:7f00:1`,
 * `0:0:0:0:0:ffff:127.0.0.1` and `::FFFF:127.0.0.1` are one address. An address with a zone id is refused, as it names an
 * interface of this machine.
 */
export function addressBytes(text: string): Uint8Array | null {
  if (isIPv4(text)) return Uint8Array.from(text.split('.'), Number);
  if (!isIPv6(text) || text.includes('%')) return null;
  return ipv6Bytes(text);
}

/** `text` has passed `isIPv6`, so each group is one to four hex digits and at most one `::` is present. */
function ipv6Bytes(text: string): Uint8Array {
  const [head = '', tail] = withoutDottedQuad(text).split('::');
  const front = groupsOf(head);
  const back = tail === undefined ? [] : groupsOf(tail);
  const bytes = new Uint8Array(IPV6_GROUPS * 2);
  const view = new DataView(bytes.buffer);
  front.forEach((group, index) => view.setUint16(index * 2, group));
  back.forEach((group, index) => view.setUint16((IPV6_GROUPS - back.length + index) * 2, group));
  return bytes;
}

function withoutDottedQuad(text: string): string {
  const start = text.lastIndexOf(':') + 1;
  const quad = text.slice(start);
  if (!quad.includes('.')) return text;
  const [a = 0, b = 0, c = 0, d = 0] = quad.split('.').map(Number);
  return `${text.slice(0, start)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

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
  const unmapped = prefixLength < mappedLength ? address : (readIpAddress(addressText) ?? address);
  return { address: [...unmapped], prefixLength: prefixLength - (address.length - unmapped.length) * 8 };
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
