import { lookup as lookUp, type LookupAddress } from 'node:dns';
import { isIPv6, type LookupFunction, type Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { ConnectFailure, type OpenOptions, openTcp, whenOpen } from './open-socket.ts';

/** An HTTP proxy of the operator through which requests leave: plain data, as it is posted to the sending thread. */
export interface EgressProxy {
  /** A name or a literal address, without brackets. It is the operator's word, and may be in any network. */
  readonly host: string;
  readonly port: number;
  /** The header `Proxy-Authorization`; absent without credentials. */
  readonly authorization?: string | undefined;
}

/** How webhooks leave, beyond the networks that they may go to. Plain data, too. */
export interface Egress {
  readonly proxy?: EgressProxy | undefined;
  /** PEM certificates that are trusted beside the system's. */
  readonly authorities?: readonly string[] | undefined;
}

export interface TunnelOptions extends OpenOptions {
  readonly port: number;
  readonly clock: Clock;
}

const answerBytesMax = 16 * 1024;
/** The tunnel fails a little before the attempt's deadline, which would not mention the proxy. */
const marginMs = 250;

/**
 * Opens a connection to a literal address through a proxy (CONNECT, RFC 9110 section 9.3.6). The proxy gets the address and never
 * a name, which it could resolve to another one. Rejects with a {@link ConnectFailure}.
 */
export async function openTunnel(
  proxy: EgressProxy,
  address: string,
  options: TunnelOptions,
): Promise<Socket> {
  const { signal, clock } = options;
  const end = clock.monotonic() + options.timeoutMs - marginMs;
  const socket = await openToProxy(proxy, { timeoutMs: end - clock.monotonic(), signal });
  const target = `${isIPv6(address) ? `[${address}]` : address}:${options.port}`;
  const credentials =
    proxy.authorization === undefined ? '' : `Proxy-Authorization: ${proxy.authorization}\r\n`;
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${credentials}\r\n`);
  return whenOpen(socket, {
    timeoutMs: end - clock.monotonic(),
    timeoutText: 'The proxy did not answer in time.',
    signal,
    begin: (open, fail) => readAnswer(socket, open, fail),
    toFailure: () => proxyFailure('The proxy closed the connection.'),
  });
}

async function openToProxy({ host, port }: EgressProxy, options: OpenOptions): Promise<Socket> {
  try {
    return await openTcp(host, { ...options, port, lookup: sharedLookup });
  } catch (error) {
    const reason = error instanceof ConnectFailure ? error.message : String(error);
    throw new ConnectFailure('proxy', `The proxy could not be reached: ${lowerFirst(reason)}`, error);
  }
}

/** Reads the answer to CONNECT and leaves the socket to the tunnel. */
function readAnswer(socket: Socket, open: () => void, fail: (failure: ConnectFailure) => void): void {
  let answer = '';
  const onReadable = (): void => {
    for (let chunk: unknown = socket.read(); chunk instanceof Buffer; chunk = socket.read())
      answer += chunk.toString('latin1');
    const end = answer.indexOf('\r\n\r\n');
    if (end === -1 && answer.length <= answerBytesMax) return;
    socket.off('readable', onReadable);
    const failure = end === -1 || end > answerBytesMax ? tooLong() : failureOf(answer, end);
    if (failure === undefined) open();
    else fail(failure);
  };
  socket.on('readable', onReadable);
}

function failureOf(answer: string, end: number): ConnectFailure | undefined {
  const status = /^HTTP\/1\.[01] (\d{3})(?: |\r\n)/.exec(answer)?.[1];
  if (status === undefined) return proxyFailure('The proxy did not answer in HTTP/1.1.');
  if (status.startsWith('2'))
    return answer.length === end + 4
      ? undefined
      : proxyFailure('The proxy sent more than its answer before the request.');
  if (status === '407') return proxyFailure('The proxy refused the credentials of this service (407).');
  // Whether its network or the receiver is at fault, the proxy does not say: it is about this address.
  if (['502', '503', '504'].includes(status))
    return new ConnectFailure('connect', `The proxy could not connect to the receiver (${status}).`);
  return proxyFailure(`The proxy refused to connect to the receiver (${status}).`);
}

function tooLong(): ConnectFailure {
  return proxyFailure("The proxy's answer is larger than 16 KiB.");
}

function proxyFailure(message: string): ConnectFailure {
  return new ConnectFailure('proxy', message);
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

type LookupCallback = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void;

/** Those that wait for the look-up of a name. */
const waiting = new Map<string, LookupCallback[]>();

/**
 * Resolves the proxy's name as the system does, its hosts file included. Look-ups at the same time share one: each takes a thread of
 * the few that a process has for files.
 */
const sharedLookup: LookupFunction = (name, _options, callback) => {
  const notify: LookupCallback = (error, addresses) => callback(error, [...addresses]);
  const others = waiting.get(name);
  if (others !== undefined) {
    others.push(notify);
    return;
  }
  const all = [notify];
  waiting.set(name, all);
  lookUp(name, { all: true }, (error, addresses) => {
    waiting.delete(name);
    for (const one of all) one(error, error === null ? addresses : []);
  });
};
