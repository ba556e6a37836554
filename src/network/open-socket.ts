import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { codeOf } from '../base/process.ts';

export const tlsVersionMin = 'TLSv1.2';

/** Idle time before the first keep-alive probe, which notices a peer that vanished without closing. */
const KEEP_ALIVE_PROBE_MS = 30_000;

export interface OpenOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface TcpOptions extends OpenOptions {
  readonly port: number;
  /** Resolves a name; absent for a literal address. */
  readonly lookup?: LookupFunction;
}

export interface TlsOptions extends OpenOptions {
  /** The name or address that the certificate must be for. */
  readonly name: string;
  readonly protocols: readonly string[];
  readonly trustedCertificates: string | undefined;
  /** What TLS uses in place of the defaults; it decides what is trusted. */
  readonly context?: SecureContext | undefined;
}

/** Opens a socket to an address. Rejects with a {@link ConnectFailure} of kind `connect` or `timeout`. */
export function openTcp(address: string, options: TcpOptions): Promise<Socket> {
  const { port, lookup } = options;
  const socket = connect({ host: address, port, noDelay: true, ...(lookup && { lookup }) });
  socket.setKeepAlive(true, KEEP_ALIVE_PROBE_MS);
  return whenOpen(socket, {
    ...options,
    begin: (open) => void socket.once('connect', open),
    toFailure: connectFailure,
  });
}

/** Starts TLS on a socket and verifies the certificate. Rejects with a {@link ConnectFailure} of kind `tls` or `timeout`. */
export function openTls(socket: Socket, options: TlsOptions): Promise<Socket> {
  const secure = nodeTls.connect({
    socket,
    // SNI carries only names (RFC 6066); for an address the certificate is compared with `host`.
    host: options.name,
    ...(isIP(options.name) === 0 ? { servername: options.name } : {}),
    ...(options.trustedCertificates === undefined ? {} : { ca: options.trustedCertificates }),
    ...(options.context !== undefined && { secureContext: options.context }),
    minVersion: tlsVersionMin,
    // Explicit, as NODE_TLS_REJECT_UNAUTHORIZED could turn the default off.
    rejectUnauthorized: true,
    ...(options.protocols.length === 0 ? {} : { ALPNProtocols: [...options.protocols] }),
  });
  return whenOpen(secure, {
    ...options,
    begin: (open) => void secure.once('secureConnect', open),
    toFailure: tlsFailure,
  });
}

interface WhenOpenOptions extends OpenOptions {
  /** Calls one of the two once the socket is open, or cannot be. */
  readonly begin: (open: () => void, fail: (failure: ConnectFailure) => void) => void;
  readonly toFailure: (error: unknown) => ConnectFailure;
  readonly timeoutText?: string;
}

/** Resolves with the socket once it is open, and destroys it if that fails or takes too long. */
export function whenOpen<Opening extends Socket>(
  socket: Opening,
  options: WhenOpenOptions,
): Promise<Opening> {
  const { promise, resolve, reject } = Promise.withResolvers<Opening>();
  const { timeoutText = 'The connection could not be opened in time.' } = options;
  const fail = (failure: ConnectFailure) => {
    cleanUp();
    socket.destroy();
    reject(failure);
  };
  const onError = (error: Error) => fail(options.toFailure(error));
  const onClose = () => fail(options.toFailure(new Error('closed')));
  const onAbort = () =>
    fail(new ConnectFailure('connect', 'The attempt was over before the connection was open.'));
  const timer = setTimeout(
    () => fail(new ConnectFailure('timeout', timeoutText)),
    Math.max(1, options.timeoutMs),
  );
  const cleanUp = () => {
    clearTimeout(timer);
    socket.off('close', onClose);
    options.signal.removeEventListener('abort', onAbort);
  };
  // The error listener stays: until undici adds its own, an error without a listener would end the thread.
  socket.on('error', onError);
  socket.once('close', onClose);
  options.begin(() => {
    cleanUp();
    resolve(socket);
  }, fail);
  options.signal.addEventListener('abort', onAbort);
  if (options.signal.aborted) onAbort();
  return promise;
}

const connectWords: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The connection was refused.',
  ECONNRESET: 'The connection was reset while it was being opened.',
  EHOSTUNREACH: 'The host could not be reached.',
  ENETUNREACH: 'The network of the host could not be reached.',
  ETIMEDOUT: 'The host did not answer.',
};

function connectFailure(error: unknown): ConnectFailure {
  const code = codeOf(error);
  return new ConnectFailure(
    'connect',
    connectWords[code] ?? `The connection failed (${code || 'closed'}).`,
    error,
  );
}

const tlsWords: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'The certificate has expired.',
  CERT_NOT_YET_VALID: 'The certificate is not valid yet.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is for another name.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate is self-signed.',
  SELF_SIGNED_CERT_IN_CHAIN: 'The certificate chain ends in one that is not trusted.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'The certificate chain is not complete.',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'The certificate was issued by an authority that is not trusted.',
};

function tlsFailure(error: unknown): ConnectFailure {
  const code = codeOf(error);
  return new ConnectFailure(
    'tls',
    tlsWords[code] ?? `The TLS handshake failed (${code || 'closed'}).`,
    error,
  );
}

export type ConnectFailureKind = 'dns' | 'connect' | 'tls' | 'refused' | 'timeout' | 'protocol' | 'proxy';

/**
 * Why no usable connection was made. `message` is in plain words, for the endpoint's owner. `code` must not be one of undici's: on
 * `UND_ERR_SOCKET` and `UND_ERR_INFO` undici would reconnect without end.
 */
export class ConnectFailure extends Error {
  override readonly name = 'ConnectFailure';
  readonly kind: ConnectFailureKind;
  readonly code = 'CONNECT_FAILURE';

  constructor(kind: ConnectFailureKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/**
 * `node:tls` without an import statement, which would read every export: `rootCertificates` alone decodes a hundred and fifty
 * certificates, which takes 2 MB and 13 ms of a start.
 */
export const nodeTls = process.getBuiltinModule('node:tls');
