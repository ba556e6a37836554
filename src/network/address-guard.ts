/**
 * Which addresses this service may connect to. The superusers of an instance choose the URLs of its endpoints and the host of its
 * mail server, so without this it would be a door into the operator's own network (server-side request forgery). The ranges are
 * those of the IANA registries of special-purpose addresses; what is not known to be public is refused.
 *
 *   address-guard     which addresses, and which of them without TLS
 *   host-resolver     names to addresses
 *   guarded-connect   the only way out: a socket to an address that was judged
 */
import { isInCidr, parseCidr } from '../base/cidr.ts';
import type { Cidr } from '../base/cidr.ts';
import { readIpAddress } from '../base/ip-address.ts';

/** What the operator permits beyond the public internet. Plain data: it is posted to the sending worker. */
export interface NetworkPolicy {
  /** `--dev`: connections without TLS are accepted to every target. Otherwise only to those inside `allowed`. */
  readonly allowHttp: boolean;
  /** `--allow-net`, and the loopback ranges with `--dev`. */
  readonly allowed: readonly Cidr[];
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

/** Whether a connection to this literal address is permitted. What cannot be read as an address is not. */
export function isAddressAllowed(address: string, policy: NetworkPolicy): boolean {
  const bytes = targetBytes(address);
  if (bytes === null) return false;
  return isIn(bytes, policy.allowed) || isPublic(bytes);
}

/** Whether an address may be reached without TLS: where the operator said so for all, or named its range. */
export function isPlainAllowed(address: string, policy: NetworkPolicy): boolean {
  if (policy.allowHttp) return true;
  const bytes = targetBytes(address);
  return bytes !== null && isIn(bytes, policy.allowed);
}

/** Whether both texts reach the same address, however they are written. */
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
