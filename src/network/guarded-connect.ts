import { isIP, type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import {
  isAddressAllowed,
  isLocalhostName,
  isPlainAllowed,
  isSameAddress,
  type NetworkPolicy,
  withoutRootDot,
} from './address-guard.ts';
import { ConnectFailure, openTcp, openTls } from './open-socket.ts';
import type { HostResolver } from './host-resolver.ts';
import { type EgressProxy, openTunnel } from './proxy-tunnel.ts';

/** Addresses tried per name: a name with a hundred is not worth a hundred time-outs. */
const addressesTriedMax = 4;

export interface ConnectTarget {
  /** `later`: the protocol itself starts TLS on the open connection. */
  readonly tls: 'now' | 'later' | 'never';
  /** The protocols offered inside TLS (ALPN); absent for none. */
  readonly protocols?: readonly string[];
  /** Of a server with authorities of its own, or that wants to see a certificate. */
  readonly context?: SecureContext | undefined;
  /** A name or a literal address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** The message when the target is not allowed. It is the same for each, as different ones would let a client map a network. */
  readonly refusal: string;
}

export interface ConnectGuard {
  readonly policy: NetworkPolicy;
  readonly resolver: HostResolver;
  readonly clock: Clock;
  /** PEM certificates trusted instead of the system's, for tests. */
  readonly trustedCertificates?: string | undefined;
  /** Absent where connections are direct. */
  readonly proxy?: EgressProxy | undefined;
}

/** How long each step took in ms; null for a step that was not taken or not finished. */
export interface ConnectTimings {
  dnsMs: number | null;
  connectMs: number | null;
  tlsMs: number | null;
}

export interface ConnectRun {
  /** By `clock.monotonic()`. */
  readonly deadline: number;
  /** Filled in while connecting, so that a failure reports how far it came. */
  readonly timings: ConnectTimings;
  /** Aborts whatever is being opened when the attempt ends before it has a connection. */
  readonly signal: AbortSignal;
}

/**
 * Opens a connection to a checked address and to no other: a literal is checked, a name is resolved once and **all** its addresses
 * are checked, and the peer of the open socket is compared with the intended address. No byte is written before that, not even of
 * TLS. A proxy gets the checked address, so that it resolves nothing itself. Rejects with a {@link ConnectFailure}.
 */
export async function guardedConnect(
  target: ConnectTarget,
  guard: ConnectGuard,
  run: ConnectRun,
): Promise<Socket> {
  const addresses = await vettedAddresses(target, guard, run);
  const socket = await connectToFirst(addresses, { target, guard, run });
  if (target.tls !== 'now') return socket;
  const start = guard.clock.monotonic();
  const secure = await openTls(socket, {
    name: withoutRootDot(target.host),
    timeoutMs: run.deadline - start,
    signal: run.signal,
    protocols: target.protocols ?? [],
    trustedCertificates: guard.trustedCertificates,
    context: target.context,
  });
  run.timings.tlsMs = guard.clock.monotonic() - start;
  return secure;
}

async function vettedAddresses(
  target: ConnectTarget,
  guard: ConnectGuard,
  run: ConnectRun,
): Promise<readonly string[]> {
  const { policy } = guard;
  const isPermitted = (address: string) =>
    isAddressAllowed(address, policy) && (target.tls !== 'never' || isPlainAllowed(address, policy));
  let addresses: readonly string[] = [target.host];
  if (isIP(target.host) === 0) {
    const start = guard.clock.monotonic();
    addresses = await guard.resolver.resolve(target.host);
    run.timings.dnsMs = guard.clock.monotonic() - start;
    // This list is HostResolver's own; an operator who allows one of the two loopback addresses means that one.
    if (isLocalhostName(target.host)) addresses = addresses.filter(isPermitted);
  }
  if (addresses.length === 0 || !addresses.every(isPermitted))
    throw new ConnectFailure('refused', target.refusal);
  return addresses.slice(0, addressesTriedMax);
}

interface ConnectJob {
  readonly target: ConnectTarget;
  readonly guard: ConnectGuard;
  readonly run: ConnectRun;
}

async function connectToFirst(addresses: readonly string[], job: ConnectJob): Promise<Socket> {
  const { clock } = job.guard;
  const start = clock.monotonic();
  let failure: unknown = new ConnectFailure('connect', 'No address could be tried.');
  for (const [index, address] of addresses.entries()) {
    if (job.run.signal.aborted) break;
    // Each address gets its share of the time left, so that a silent one does not use up that of the others.
    const timeoutMs = (job.run.deadline - clock.monotonic()) / (addresses.length - index);
    try {
      const socket = await openToAddress(address, timeoutMs, job);
      job.run.timings.connectMs = clock.monotonic() - start;
      return socket;
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

async function openToAddress(address: string, timeoutMs: number, job: ConnectJob): Promise<Socket> {
  const { target, guard, run } = job;
  const options = { port: target.port, timeoutMs, signal: run.signal };
  // The peer of a tunnel is the proxy.
  if (guard.proxy !== undefined) return openTunnel(guard.proxy, address, { ...options, clock: guard.clock });
  const socket = await openTcp(address, options);
  assertPeer(socket, address, job);
  return socket;
}

/** Refuses a socket whose peer is not the intended address, as with a proxy that was preloaded into the process. */
function assertPeer(socket: Socket, address: string, { target, guard }: ConnectJob): void {
  const peer = socket.remoteAddress;
  if (peer !== undefined && isSameAddress(peer, address) && isAddressAllowed(peer, guard.policy)) return;
  socket.destroy();
  throw new ConnectFailure('refused', target.refusal);
}
