/** The bytes of an IPv6 network prefix: a network has at least these 64 bits, and its owner has all of its addresses. */
const networkBytes = 8;

/** Returns the key by which clients are counted: an IPv4 address, or an IPv6 network of 64 bits. */
export function clientKey(address: Uint8Array): string {
  return Buffer.from(address.length === 4 ? address : address.subarray(0, networkBytes)).toString('hex');
}
