/**
 * Which addresses this service may connect to. The superusers of an instance choose the URLs of its endpoints and the host of its
 * mail server; unguarded, they could reach the operator's own network (server-side request forgery). The refused ranges are those
 * of the IANA registries of special-purpose addresses; an address that is not known to be public is refused.
 *
 *   address-guard     which addresses, and which of them without TLS
 *   host-resolver     names to addresses
 *   guarded-connect   the only way out: a socket to an address that was checked
 *   proxy-tunnel      that socket through a proxy of the operator, for webhooks
 */

import { type Cidr, isInCidr, parseCidr, readIpAddress } from '../base/ip-address.ts';

/** What the operator allows beyond the public internet. Plain data, as it is posted to the sending thread. */
export interface NetworkPolicy {
  /** With `--dev`: connections without TLS are allowed to every target; otherwise only to those inside `allowed`. */
  readonly allowHttp: boolean;
  /** The ranges of `--allow-net`, and the loopback ranges with `--dev`. */
  readonly allowed: readonly Cidr[];
  /** Ports of other protocols that webhooks may go to all the same: those of `--allow-ports`. */
  readonly allowedPorts?: readonly number[];
}

export const loopbackRanges: readonly Cidr[] = ['127.0.0.0/8', '::1/128'].map(parseCidr);

const refusedIpv4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
].map(parseCidr);

const globalIpv6 = parseCidr('2000::/3');
const refusedIpv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'].map(parseCidr);

/** NAT64's well-known prefix: the last four bytes are the IPv4 address that is really reached. */
const nat64 = parseCidr('64:ff9b::/96');

/** True when a connection to this literal address is allowed; false for text that is not an address. */
export function isAddressAllowed(address: string, policy: NetworkPolicy): boolean {
  const bytes = targetBytes(address);
  if (bytes === null) return false;
  return isIn(bytes, policy.allowed) || isPublic(bytes);
}

/** True when an address may be reached without TLS: the operator has allowed that everywhere, or has named its range. */
export function isPlainAllowed(address: string, policy: NetworkPolicy): boolean {
  if (policy.allowHttp) return true;
  const bytes = targetBytes(address);
  return bytes !== null && isIn(bytes, policy.allowed);
}

/** True when both texts mean the same address, however they are written. */
export function isSameAddress(one: string, other: string): boolean {
  const left = targetBytes(one);
  const right = targetBytes(other);
  return left !== null && right !== null && Buffer.compare(left, right) === 0;
}

function targetBytes(address: string): Uint8Array | null {
  const bytes = readIpAddress(address);
  if (bytes === undefined) return null;
  return isInCidr(bytes, nat64) ? bytes.subarray(12) : bytes;
}

function isPublic(bytes: Uint8Array): boolean {
  if (bytes.length === 4) return !isIn(bytes, refusedIpv4);
  return isInCidr(bytes, globalIpv6) && !isIn(bytes, refusedIpv6);
}

function isIn(bytes: Uint8Array, ranges: readonly Cidr[]): boolean {
  return ranges.some((range) => isInCidr(bytes, range));
}

/** True for `localhost` and every name below it, which resolve to the loopback addresses here and never by DNS (RFC 6761). */
export function isLocalhostName(name: string): boolean {
  const bare = withoutRootDot(name).toLowerCase();
  return bare === 'localhost' || bare.endsWith('.localhost');
}

export function withoutRootDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name;
}
