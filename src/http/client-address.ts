import type { IncomingMessage } from 'node:http';
import { isInCidr, type Cidr } from '../base/cidr.ts';
import { readIpAddress } from '../base/ip-address.ts';
import type { Settings } from '../settings/settings.ts';

export interface ProxyTrust {
  /** Where the operator's own proxies are: only of them a header is believed. */
  readonly proxies: readonly Cidr[];
  /** Which header they write, as the settings have it. */
  readonly settings: Settings['trustedProxy'];
}

/** What a connection without an address comes from: one that is closed already. */
const nowhere = Uint8Array.of(0, 0, 0, 0);
const usualHeaders = ['x-forwarded-for'];

/**
 * Who asks. The peer of the connection; where that is a proxy of the operator, the right-most address of its header that is no
 * proxy again. What stands to the left of that the client may have written itself.
 */
export function clientAddress(request: IncomingMessage, { proxies, settings }: ProxyTrust): Uint8Array {
  const peer = readIpAddress(request.socket.remoteAddress ?? '') ?? nowhere;
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
