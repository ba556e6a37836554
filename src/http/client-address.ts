import type { IncomingMessage } from 'node:http';
import { isInCidr, type Cidr } from '../base/cidr.ts';
import { readIpAddress } from '../base/ip-address.ts';
import type { Settings } from '../settings/settings.ts';
import { peerAddress } from './peer-address.ts';

export interface ProxyTrust {
  /** Addresses of the operator's own proxies: headers of any other peer are ignored. */
  readonly proxies: readonly Cidr[];
  /** Which headers the proxies write, from the instance's settings. */
  readonly settings: Settings['trustedProxy'];
}

const usualHeaders = ['x-forwarded-for'];

/**
 * Returns the address of the client: the peer of the connection or, where that is one of the operator's proxies, the right-most
 * address in its header that is not. The client may have written anything to the left of that one itself.
 */
export function clientAddress(request: IncomingMessage, { proxies, settings }: ProxyTrust): Uint8Array {
  const peer = peerAddress(request.socket);
  const isProxy = (address: Uint8Array): boolean => proxies.some((range) => isInCidr(address, range));
  if (!isProxy(peer)) return peer;
  const names = settings.headers.length === 0 ? usualHeaders : settings.headers;
  const header = names
    .map((name) => request.headers[name.toLowerCase()])
    .find((value) => value !== undefined);
  if (header === undefined) return peer;
  const hops = [header]
    .flat()
    .join(',')
    .split(',')
    .flatMap((text) => readIpAddress(withoutPort(text.trim())) ?? []);
  const [first = peer] = hops;
  return settings.useLeftmostIP ? first : (hops.findLast((hop) => !isProxy(hop)) ?? first);
}

/** Some proxies write the port as well: `192.0.2.1:5000`, `[2001:db8::1]:5000`. */
function withoutPort(text: string): string {
  return /^\[([^\]]+)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text;
}
