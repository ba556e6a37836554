import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { type buildConnector, Client } from 'undici';
import type { Clock } from '../base/clock.ts';
import type { NetworkPolicy } from '../network/address-guard.ts';
import { type ConnectGuard, type ConnectTarget, guardedConnect } from '../network/guarded-connect.ts';
import { HostResolver } from '../network/host-resolver.ts';
import { ConnectFailure, nodeTls, tlsVersionMin } from '../network/open-socket.ts';
import type { EgressProxy } from '../network/proxy-tunnel.ts';
import { checkEndpointUrl, hostOf, portOf, refusedTarget } from './endpoint-request.ts';
import { GuardedConnection, noTimings, toError } from './guarded-connection.ts';
import { Http2Session } from './http2-session.ts';
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
  /** Connections over HTTP/2, each for several requests. */
  sessions: readonly Http2Session[];
  /** The first connection, of which the others learn what the receiver speaks. */
  opening?: Promise<unknown> | undefined;
  /** Whether the receiver has chosen HTTP/1.1, or speaks it anyway, as without TLS. */
  isHttp1: boolean;
  busyCount: number;
  isClosed: boolean;
  context?: SecureContext;
}

/**
 * Guarded connections to endpoints, in one pool per endpoint: two endpoints never share a connection, so that what one receiver
 * does to its connections cannot affect another endpoint, and each has its own certificates. Another URL or other certificates make
 * another pool. Inside TLS the receiver chooses between HTTP/2, where requests share connections, and HTTP/1.1, where each has one of its own. No
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
    else if (connection.isOpen) pool.idle.push(connection);
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
    for (const { sessions } of this.#pools.values()) for (const session of sessions) session.destroy();
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
        protocols: ['h2', 'http/1.1'],
        host: hostOf(url),
        port: portOf(url),
        refusal: refusedTarget,
      },
      idle: [],
      sessions: [],
      isHttp1: !isSecure,
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
      () =>
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
      () => (pool.isHttp1 ? 'http/1.1' : (this.#sessionOf(pool) ?? this.#openSession(pool, connection))),
    );
    return connection;
  }

  /** Returns a connection over HTTP/2 that has room; undefined where there is none. */
  #sessionOf(pool: Pool): Http2Session | undefined {
    this.#retireOld(pool);
    return pool.sessions.find(({ hasRoom }) => hasRoom);
  }

  #retireOld(pool: Pool): void {
    const now = this.#options.clock.monotonic();
    const isUsable = (one: Http2Session): boolean =>
      now - one.openedAt <= socketAgeMsMax && (one.streamCount > 0 || now - one.idleSince <= IDLE_MS);
    for (const session of pool.sessions) if (!isUsable(session)) session.retire();
    pool.sessions = pool.sessions.filter((one) => !one.isOver);
  }

  /** Waits for the first connection, or opens one. The socket of a receiver that chooses HTTP/1.1 is that of `connection`. */
  async #openSession(pool: Pool, connection: GuardedConnection): Promise<Http2Session | 'http/1.1'> {
    while (pool.opening !== undefined) {
      await pool.opening;
      if (pool.isHttp1) return 'http/1.1';
      const session = this.#sessionOf(pool);
      if (session !== undefined) return session;
    }
    const opening = this.#open(pool, connection);
    pool.opening = opening.catch(() => undefined).then(() => (pool.opening = undefined));
    const socket = await opening;
    if (pool.isHttp1) connection.adopt(socket);
    return this.#sessionOf(pool) ?? 'http/1.1';
  }

  async #open(pool: Pool, connection: GuardedConnection): Promise<Socket> {
    const now = (): number => this.#options.clock.monotonic();
    const run = connection.beginConnect(now());
    if (run === null) throw new ConnectFailure('protocol', 'The receiver keeps closing the connection.');
    const socket = await guardedConnect(this.#targetOf(pool), this.#guard, run);
    // Of a socket inside TLS.
    const isHttp2 = 'alpnProtocol' in socket && socket.alpnProtocol === 'h2';
    pool.isHttp1 = !isHttp2;
    if (isHttp2) pool.sessions = [...pool.sessions, new Http2Session(socket, { origin: pool.origin, now })];
    return socket;
  }

  async #connect(
    pool: Pool,
    connection: GuardedConnection,
    callback: buildConnector.Callback,
  ): Promise<void> {
    let socket: Socket;
    try {
      // Awaited in any case: undici expects the call after this one has returned.
      socket = await (connection.takeAdopted() ?? this.#openPlain(pool, connection));
    } catch (error) {
      callback(toError(error), null);
      return;
    }
    connection.endConnect(socket);
    callback(null, socket);
  }

  /** Opens a connection for HTTP/1.1. */
  #openPlain(pool: Pool, connection: GuardedConnection): Promise<Socket> {
    const run = connection.beginConnect(this.#options.clock.monotonic());
    if (run === null) throw new ConnectFailure('protocol', 'The receiver keeps closing the connection.');
    return guardedConnect({ ...this.#targetOf(pool), protocols: ['http/1.1'] }, this.#guard, run);
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
      this.#retireOld(pool);
      if (usable.length === 0 && pool.sessions.length === 0 && pool.busyCount === 0)
        this.#pools.delete(endpointId);
    }
  }
}

function closePool(pool: Pool): void {
  pool.isClosed = true;
  for (const connection of pool.idle) connection.discard();
  for (const session of pool.sessions) session.retire();
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
