import { addressBytes } from './address-bytes.ts';

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
