/** An IPv6 network has at least this many bits of its own, and whoever has one has all of its addresses. */
const networkBytes = 8;

/** Who is counted as one client: an IPv4 address, or an IPv6 network of 64 bits. */
export function clientKey(address: Uint8Array): string {
  return Buffer.from(address.length === 4 ? address : address.subarray(0, networkBytes)).toString('hex');
}
