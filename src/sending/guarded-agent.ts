import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { type buildConnector, Client, type Dispatcher } from 'undici';
import type { Clock } from '../base/clock.ts';
import type { NetworkPolicy } from '../network/address-guard.ts';
import {
  type ConnectGuard,
  type ConnectRun,
  type ConnectTarget,
  type ConnectTimings,
  guardedConnect,
} from '../network/guarded-connect.ts';
import { HostResolver } from '../network/host-resolver.ts';
import { ConnectFailure, nodeTls, tlsVersionMin } from '../network/open-socket.ts';
import type { EgressProxy } from '../network/proxy-tunnel.ts';
import { checkEndpointUrl, hostOf, portOf, refusedTarget } from './endpoint-request.ts';
import { AnswerLimit } from './answer-limit.ts';
import type { ReceiverTls } from './attempt-result.ts';

/** An address is checked when its socket is opened; after this long the name may lead to another one. */
const socketAgeMsMax = 60_000;
/** Most servers close an idle connection after 5 s or more: reusing it later would race with that. */
const IDLE_MS = 4_000;
const responseHeaderBytesMax = 16 * 1024;
const SWEEP_MS = 5_000;
const poolsMax = 4_096;
const handshakeMsMax = 10_000;

export interface GuardedAgentOptions {
  readonly policy: NetworkPolicy;
  readonly clock: Clock;
  /** Name servers instead of the system's, for tests. */
  readonly dnsServers?: readonly string[] | undefined;
  /** PEM certificates trusted instead of the system's, for tests. */
  readonly trustedCertificates?: string | undefined;
  readonly proxy?: EgressProxy | undefined;
  readonly poolsMax?: number | undefined;
}

export type Checkout =
  | { readonly kind: 'connection'; readonly connection: GuardedConnection; readonly path: string }
  | { readonly kind: 'refused'; readonly reason: string };

interface Pool {
  readonly url: string;
  readonly tls: ReceiverTls | undefined;
  readonly origin: string;
  readonly path: string;
  readonly target: ConnectTarget;
  /** The most recently used last; it is taken first, so that the others grow old and close. */
  readonly idle: GuardedConnection[];
  busyCount: number;
  isClosed: boolean;
  context?: SecureContext;
}

/**
 * Guarded connections to endpoints, in one pool per endpoint: two endpoints never share a connection, so that what one receiver
 * does to its connections cannot affect another endpoint, and each has its own certificates. Another URL or other certificates make
 * another pool. Each connection carries one request at a time; HTTP/1.1 only, no
 * redirects, and no proxy but that of `--webhook-proxy`, whatever the environment says.
 */
export class GuardedAgent {
  readonly #options: GuardedAgentOptions;
  readonly #guard: ConnectGuard;
  readonly #resolver: HostResolver;
  readonly #poolsMax: number;
  /** Least recently used first. */
  readonly #pools = new Map<string, Pool>();
  readonly #busy = new Map<GuardedConnection, Pool>();
  readonly #sweeper: NodeJS.Timeout;
  readonly #stopped = new AbortController();

  constructor(options: GuardedAgentOptions) {
    this.#options = options;
    this.#resolver = new HostResolver({ servers: options.dnsServers });
    this.#guard = {
      policy: options.policy,
      resolver: this.#resolver,
      clock: options.clock,
      trustedCertificates: options.trustedCertificates,
      proxy: options.proxy,
    };
    this.#poolsMax = options.poolsMax ?? poolsMax;
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  /** Returns a connection of this endpoint, which may still have to connect. It must be returned with {@link release}. */
  checkOut(endpointId: string, url: string, tls?: ReceiverTls): Checkout {
    const pool = this.#poolOf(endpointId, url, tls);
    if (typeof pool === 'string') return { kind: 'refused', reason: pool };
    const connection = this.#takeIdle(pool) ?? this.#newConnection(pool);
    pool.busyCount += 1;
    this.#busy.set(connection, pool);
    return { kind: 'connection', connection, path: pool.path };
  }

  /** Returns a connection to its pool. Only one whose response was complete may be reused. */
  release(connection: GuardedConnection, isReusable: boolean): void {
    const pool = this.#busy.get(connection);
    if (pool === undefined) return;
    this.#busy.delete(connection);
    pool.busyCount -= 1;
    if (!isReusable || pool.isClosed || this.#isTooOld(connection)) connection.discard();
    else pool.idle.push(connection);
  }

  /** Connects to a URL as an attempt would, TLS included, and closes the connection. Returns whether that succeeded. */
  async handshake(url: string, tls?: ReceiverTls): Promise<boolean> {
    const pool = this.#newPool(url, tls);
    if (typeof pool === 'string') return false;
    const deadline = this.#options.clock.monotonic() + handshakeMsMax;
    const run = { deadline, timings: noTimings(), signal: this.#stopped.signal };
    try {
      (await guardedConnect(this.#targetOf(pool), this.#guard, run)).destroy();
      return true;
    } catch {
      return false;
    }
  }

  get poolCount(): number {
    return this.#pools.size;
  }

  stop(): void {
    clearInterval(this.#sweeper);
    this.#stopped.abort();
    this.#resolver.stop();
    for (const pool of this.#pools.values()) closePool(pool);
    for (const connection of this.#busy.keys()) connection.discard();
    this.#pools.clear();
    this.#busy.clear();
  }

  #poolOf(endpointId: string, url: string, tls: ReceiverTls | undefined): Pool | string {
    const cached = this.#pools.get(endpointId);
    if (cached !== undefined && cached.url === url && isSameTls(cached.tls, tls)) {
      this.#pools.delete(endpointId);
      this.#pools.set(endpointId, cached);
      return cached;
    }
    const pool = this.#newPool(url, tls);
    if (typeof pool === 'string') return pool;
    if (cached !== undefined) closePool(cached);
    this.#pools.delete(endpointId);
    this.#evict();
    this.#pools.set(endpointId, pool);
    return pool;
  }

  /** Checks the URL again: the operator may have narrowed the policy since it was saved. */
  #newPool(text: string, tls: ReceiverTls | undefined): Pool | string {
    const check = checkEndpointUrl(text, this.#options.policy);
    if (check.kind === 'refused') return check.reason;
    const url = new URL(check.url);
    const isSecure = url.protocol === 'https:';
    return {
      url: text,
      tls,
      origin: url.origin,
      path: url.pathname + url.search,
      target: {
        tls: isSecure ? 'now' : 'never',
        protocols: ['http/1.1'],
        host: hostOf(url),
        port: portOf(url),
        refusal: refusedTarget,
      },
      idle: [],
      busyCount: 0,
      isClosed: false,
    };
  }

  #evict(): void {
    if (this.#pools.size < this.#poolsMax) return;
    for (const [endpointId, pool] of this.#pools) {
      if (pool.busyCount > 0) continue;
      closePool(pool);
      this.#pools.delete(endpointId);
      return;
    }
  }

  #takeIdle(pool: Pool): GuardedConnection | undefined {
    for (let connection = pool.idle.pop(); connection !== undefined; connection = pool.idle.pop()) {
      if (!this.#isTooOld(connection)) return connection;
      connection.discard();
    }
    return undefined;
  }

  #newConnection(pool: Pool): GuardedConnection {
    const connection: GuardedConnection = new GuardedConnection(
      new Client(pool.origin, {
        allowH2: false,
        // The attempt has its own deadline: undici's timers would only cost time.
        headersTimeout: 0,
        bodyTimeout: 0,
        keepAliveTimeout: IDLE_MS,
        keepAliveMaxTimeout: socketAgeMsMax,
        maxHeaderSize: responseHeaderBytesMax,
        connect: (_options, callback) => void this.#connect(pool, connection, callback),
      }),
    );
    return connection;
  }

  async #connect(
    pool: Pool,
    connection: GuardedConnection,
    callback: buildConnector.Callback,
  ): Promise<void> {
    let socket: Socket;
    try {
      const run = connection.beginConnect(this.#options.clock.monotonic());
      if (run === null) throw new ConnectFailure('protocol', 'The receiver keeps closing the connection.');
      socket = await guardedConnect(this.#targetOf(pool), this.#guard, run);
    } catch (error) {
      callback(toError(error), null);
      return;
    }
    connection.endConnect(socket);
    callback(null, socket);
  }

  /** Adds the certificates of a pool, which are parsed for its first connection. */
  #targetOf(pool: Pool): ConnectTarget {
    const { target, tls } = pool;
    if (tls === undefined || target.tls !== 'now') return target;
    pool.context ??= secureContext(tls, this.#options.trustedCertificates);
    return { ...target, context: pool.context };
  }

  #isTooOld(connection: GuardedConnection): boolean {
    return this.#options.clock.monotonic() - connection.openedAt > socketAgeMsMax;
  }

  #sweep(): void {
    for (const [endpointId, pool] of this.#pools) {
      const usable = pool.idle.filter((connection) => !this.#isTooOld(connection));
      for (const connection of pool.idle) if (this.#isTooOld(connection)) connection.discard();
      pool.idle.splice(0, pool.idle.length, ...usable);
      if (usable.length === 0 && pool.busyCount === 0) this.#pools.delete(endpointId);
    }
  }
}

function closePool(pool: Pool): void {
  pool.isClosed = true;
  for (const connection of pool.idle) connection.discard();
  pool.idle.length = 0;
}

function isSameTls(one: ReceiverTls | undefined, other: ReceiverTls | undefined): boolean {
  return (
    one?.ca === other?.ca &&
    one?.client?.certificate === other?.client?.certificate &&
    one?.client?.key === other?.client?.key
  );
}

/** Without authorities of its own, it trusts those of the system, which all contexts share. */
function secureContext({ ca, client }: ReceiverTls, trustedCertificates: string | undefined): SecureContext {
  const trusted = ca === '' ? trustedCertificates : ca;
  try {
    return nodeTls.createSecureContext({
      ...(trusted !== undefined && { ca: trusted }),
      ...(client !== null && { cert: client.certificate, key: client.key }),
      minVersion: tlsVersionMin,
    });
  } catch (error) {
    throw new ConnectFailure('tls', 'The certificates of the endpoint cannot be used.', error);
  }
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** One connect for an idle connection that the receiver had closed, and one more in case the new one closes too. */
const connectsPerAttemptMax = 2;

/**
 * One connection to one endpoint, carrying one request at a time. undici reconnects by itself when the socket of an unsent request
 * closes; a receiver that always hangs up at once would make that a loop, so connects are counted.
 */
export class GuardedConnection {
  readonly #client: Client;
  #deadline = 0;
  #connectsLeft = 0;
  #timings: ConnectTimings = noTimings();
  #connecting: AbortController | null = null;
  #socket: Socket | null = null;
  readonly #limit = new AnswerLimit();
  #isReused = false;
  /** `clock.monotonic()` when the current socket began to be opened. */
  openedAt = Infinity;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Timings of the attempt under way: all null while it uses a socket that was already open. */
  get timings(): Readonly<ConnectTimings> {
    return this.#timings;
  }

  /** True when the attempt under way was written to a socket that had carried an earlier one. */
  get isReused(): boolean {
    return this.#isReused;
  }

  /** Sends a request. May be called again for the same attempt when its socket was closed without a response. */
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler, deadline: number): void {
    this.#deadline = deadline;
    this.#connectsLeft = connectsPerAttemptMax;
    this.#timings = noTimings();
    this.#limit.begin();
    this.#isReused = this.#socket !== null;
    this.#client.dispatch(options, handler);
  }

  /** Called when undici wants a socket; returns null when the attempt has used up its connects. */
  beginConnect(now: number): ConnectRun | null {
    if (this.#connectsLeft === 0) return null;
    this.#connectsLeft -= 1;
    this.#connecting = new AbortController();
    this.#isReused = false;
    this.#timings = noTimings();
    this.openedAt = now;
    return { deadline: this.#deadline, timings: this.#timings, signal: this.#connecting.signal };
  }

  endConnect(socket: Socket): void {
    this.#socket = socket;
    this.#limit.guard(socket);
    this.#connecting = null;
  }

  /** Destroys the socket, open or opening. Only the handler of the request under way learns of it. */
  discard(): void {
    this.#connecting?.abort();
    void this.#client.destroy();
  }
}

function noTimings(): ConnectTimings {
  return { dnsMs: null, connectMs: null, tlsMs: null };
}
