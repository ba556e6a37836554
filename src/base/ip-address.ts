import { addressBytes } from './address-bytes.ts';

/** `::ffff:a.b.c.d`: how an IPv4 client looks to a socket that listens on both families. */
const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/** The 4 or 16 bytes of an address in text, of a mapped one those of the IPv4 address that it means; undefined for anything else. */
export function readIpAddress(text: string): Uint8Array | undefined {
  const bytes = addressBytes(text);
  if (bytes === null) return undefined;
  const isMapped = bytes.length === 16 && mappedPrefix.every((byte, index) => bytes[index] === byte);
  return isMapped ? bytes.subarray(12) : bytes;
}

/** IPv6 fully expanded, so that one address has one text. */
export function ipAddressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  const hex = Buffer.from(bytes).toString('hex');
  return (hex.match(/.{4}/g) ?? []).join(':');
}
