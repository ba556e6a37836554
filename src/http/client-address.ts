import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { assert } from '../base/assert.ts';
import { type Cidr, isInCidr, readIpAddress } from '../base/ip-address.ts';
import { defaultSlug } from '../instances/instance-directory.ts';
import type { Instance } from '../instances/instance.ts';
import { loopbackRanges } from '../network/address-guard.ts';
import type { Settings } from '../settings/settings.ts';
import { onConnection } from './connections.ts';

/** What tells who a client is. */
export interface ClientTraces {
  /** The address at the other end of the connection. */
  readonly peer: Uint8Array;
  readonly headers: IncomingHttpHeaders;
}

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
export function clientAddress(
  { peer, headers }: ClientTraces,
  { proxies, settings }: ProxyTrust,
): Uint8Array {
  const isProxy = (address: Uint8Array): boolean => proxies.some((range) => isInCidr(address, range));
  if (!isProxy(peer)) return peer;
  const names = settings.headers.length === 0 ? usualHeaders : settings.headers;
  const header = names.map((name) => headers[name.toLowerCase()]).find((value) => value !== undefined);
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

const peers = new WeakMap<Socket, Uint8Array>();

/**
 * Notes the peer of each connection when it begins: once the client has reset it, the system no longer knows the peer, while a request
 * that was sent before the reset is still served. A connection that was reset before it was accepted has no known peer and is dropped.
 */
export function notePeers(server: Server): void {
  onConnection(server, (socket) => {
    const address = readPeer(socket.remoteAddress);
    if (address === undefined) socket.destroy();
    else peers.set(socket, address);
  });
}

/** A link-local address comes with a zone, which names an interface of this machine: `fe80::1%eth0`. */
export function readPeer(remoteAddress = ''): Uint8Array | undefined {
  const [address = ''] = remoteAddress.split('%', 1);
  return readIpAddress(address);
}

/** Returns the address at the other end of a request's connection, which may be closed by now. */
export function peerAddress(socket: Socket): Uint8Array {
  const address = peers.get(socket);
  assert(address !== undefined, 'a connection is noted before its first request');
  return address;
}

/** What a request tells of its client. */
export function tracesOf({ socket, headers }: IncomingMessage): ClientTraces {
  return { peer: peerAddress(socket), headers };
}

const proxyHeaders = ['X-Forwarded-For', 'X-Real-IP', 'CF-Connecting-IP', 'Fly-Client-IP', 'True-Client-IP'];

/** Returns the name of a header of a request that usually only proxies write, or undefined. */
export function findProxyHeader(headers: IncomingHttpHeaders): string | undefined {
  return proxyHeaders.find((name) => headers[name.toLowerCase()] !== undefined);
}

/**
 * True for a request of a superuser that most likely comes from who runs the server: to the default instance, from the same machine
 * and through no proxy. It decides only whether a refusal names the flag that would lift it, and must never permit anything.
 */
export function isFromOperator(
  { slug }: Instance,
  headers: IncomingHttpHeaders,
  address: Uint8Array,
): boolean {
  if (slug !== defaultSlug || findProxyHeader(headers) !== undefined) return false;
  return loopbackRanges.some((range) => isInCidr(address, range));
}
