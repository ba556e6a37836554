import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { unreachable } from '../../src/base/assert.ts';

/** How a receiver behaves towards every request, or towards every connection. */
export type ReceiverMode =
  | { readonly kind: 'ok' }
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Uint8Array;
    }
  /** Answers with the headers that it was sent, in the body and in a header. */
  | { readonly kind: 'echo'; readonly status: number }
  /** As another mode, by what is asked. */
  | { readonly kind: 'by request'; readonly modeOf: (request: ReceivedRequest) => ReceiverMode }
  | { readonly kind: 'slow'; readonly delayMs: number; readonly status?: number }
  /** Answers once `until` resolves: a test can order events without relying on time. */
  | { readonly kind: 'held'; readonly until: Promise<unknown>; readonly status?: number }
  | { readonly kind: 'never answers' }
  /** Status and headers at once, then one byte of body at a time. */
  | { readonly kind: 'drip'; readonly intervalMs: number }
  | { readonly kind: 'endless body'; readonly status?: number }
  | { readonly kind: 'reset on accept' }
  | { readonly kind: 'close on accept' }
  | { readonly kind: 'reset after request' }
  | { readonly kind: 'close after request' }
  | { readonly kind: 'half response' }
  /** These bytes instead of an answer; the connection stays open. */
  | { readonly kind: 'raw'; readonly bytes: string }
  /** These bytes as soon as the connection is accepted, before any request. */
  | { readonly kind: 'raw on accept'; readonly bytes: string }
  | { readonly kind: 'garbage' }
  | { readonly kind: 'redirect'; readonly location: string; readonly status?: number }
  | { readonly kind: 'interim flood' }
  | { readonly kind: 'huge headers' }
  /** Headers of one letter, sent without end. */
  | { readonly kind: 'endless headers' };

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  /** Milliseconds since 1970, when the body had arrived. */
  readonly receivedAt: number;
}

export interface ReceiverOptions {
  readonly mode?: ReceiverMode;
  /** A loopback address; all of 127.0.0.0/8 belongs to this machine. */
  readonly address?: string;
  readonly port?: number;
  readonly tls?: {
    readonly key: string;
    readonly cert: string;
    /** Whose certificates clients must have; absent where they need none. */
    readonly ca?: string;
  };
  /** Called when a request has arrived, before it is answered in this mode. */
  readonly onRequest?: (request: ReceivedRequest, mode: ReceiverMode) => void;
  /** Whether `requests` stays empty: of millions, only `onRequest` is to know. */
  readonly isForgetful?: boolean;
}

/** A real HTTP receiver on a free loopback port that can be told to be slow, rude, huge or gone. */
export class Receiver implements AsyncDisposable {
  mode: ReceiverMode;
  readonly requests: ReceivedRequest[] = [];
  /** Accepted connections, whether or not a request came. */
  connectionCount = 0;
  /** The most requests that were open at one time; a test may reset it. */
  openRequestsMost = 0;
  /** What each TLS client named in its greeting (SNI). */
  readonly serverNames: string[] = [];
  /** The certificate of the client of each connection. */
  readonly clientFingerprints: string[] = [];
  readonly #server: Server;
  readonly #isTls: boolean;
  readonly #listener: ReceiverOptions['onRequest'];
  readonly #isForgetful: boolean;
  #openRequests = 0;
  readonly #sockets = new Set<Socket>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  constructor(options: ReceiverOptions = {}) {
    this.mode = options.mode ?? { kind: 'ok' };
    this.#isTls = options.tls !== undefined;
    this.#listener = options.onRequest;
    this.#isForgetful = options.isForgetful ?? false;
    const onRequest = (request: IncomingMessage, response: ServerResponse) =>
      this.#onRequest(request, response);
    this.#server =
      options.tls === undefined
        ? createServer(onRequest)
        : createTlsServer({ ...options.tls, requestCert: options.tls.ca !== undefined }, onRequest);
    // Only the client closes idle connections: if the receiver did so just as a request arrives, the attempt would fail.
    this.#server.keepAliveTimeout = 0;
    this.#server.on('connection', (socket: Socket) => this.#onConnection(socket));
    this.#server.on('secureConnection', (socket: TLSSocket) => {
      if (typeof socket.servername === 'string') this.serverNames.push(socket.servername);
      // Without a certificate there is no fingerprint.
      if (options.tls?.ca !== undefined)
        this.clientFingerprints.push(socket.getPeerCertificate().fingerprint256);
    });
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  static async open(options: ReceiverOptions = {}): Promise<Receiver> {
    const receiver = new Receiver(options);
    receiver.#server.listen(options.port ?? 0, options.address ?? '127.0.0.1');
    await once(receiver.#server, 'listening');
    return receiver;
  }

  get port(): number {
    // The cast holds: a TCP server that is listening has such an address.
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return this.urlAt('127.0.0.1');
  }

  urlAt(host: string, path = '/hook'): string {
    return `${this.#isTls ? 'https' : 'http'}://${host}:${this.port}${path}`;
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  /** Resolves as soon as this many requests have arrived in all. */
  async waitForRequests(count: number): Promise<readonly ReceivedRequest[]> {
    if (this.requests.length < count) {
      await new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
    }
    return this.requests;
  }

  cutConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.cutConnections();
    this.#server.close();
    if (this.#server.listening) await once(this.#server, 'close');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #onConnection(socket: Socket): void {
    this.connectionCount += 1;
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    if (this.mode.kind === 'reset on accept') socket.resetAndDestroy();
    if (this.mode.kind === 'close on accept') socket.end();
    if (this.mode.kind === 'raw on accept') socket.write(this.mode.bytes);
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    this.#openRequests += 1;
    this.openRequestsMost = Math.max(this.openRequestsMost, this.#openRequests);
    response.on('close', () => (this.#openRequests -= 1));
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const received = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        rawHeaders: request.rawHeaders,
        body: Buffer.concat(chunks),
        receivedAt: Date.now(),
      };
      if (!this.#isForgetful) this.requests.push(received);
      this.#listener?.(received, this.mode);
      const { mode } = this;
      this.#answer(mode.kind === 'by request' ? mode.modeOf(received) : mode, request, response);
      for (const { count, resolve } of this.#waiting) if (this.requests.length >= count) resolve();
    });
  }

  #answer(mode: ReceiverMode, request: IncomingMessage, response: ServerResponse): void {
    switch (mode.kind) {
      case 'ok':
        return end(response, 200, 'ok');
      case 'status':
        response.writeHead(mode.status, mode.headers ?? {});
        return void response.end(mode.body ?? '');
      case 'echo':
        response.writeHead(mode.status, { 'x-echo': request.rawHeaders.join(' ') });
        return void response.end(JSON.stringify(request.headers));
      case 'slow':
        return this.#after(mode.delayMs, () => end(response, mode.status ?? 200, 'ok'));
      case 'held':
        return void mode.until.then(() => end(response, mode.status ?? 200, 'ok'));
      case 'redirect':
        response.writeHead(mode.status ?? 302, { location: mode.location });
        return void response.end();
      case 'drip':
        response.writeHead(200, { 'content-type': 'text/plain' });
        return this.#drip(() => response.write('.'), mode.intervalMs);
      case 'endless body':
        response.writeHead(mode.status ?? 200, { 'content-type': 'text/plain' });
        return pour(response, Buffer.alloc(64 * 1024, 'x'));
      default:
        return this.#answerRaw(mode, request.socket);
    }
  }

  #answerRaw(mode: Exclude<ReceiverMode, PoliteMode>, socket: Socket): void {
    switch (mode.kind) {
      case 'never answers':
      case 'raw on accept':
      case 'by request':
        return;
      case 'reset on accept':
      case 'reset after request':
        socket.resetAndDestroy();
        return;
      case 'close on accept':
      case 'close after request':
        socket.end();
        return;
      case 'half response':
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly a part');
        return;
      case 'raw':
        socket.write(mode.bytes);
        return;
      case 'garbage':
        socket.write('\0\x01\x02 this is no HTTP at all\r\n\r\n');
        return;
      case 'interim flood':
        return pour(socket, Buffer.from('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'));
      case 'huge headers':
        socket.write(`HTTP/1.1 200 OK\r\nx-big: ${'a'.repeat(64 * 1024)}\r\n\r\n`);
        return;
      case 'endless headers':
        socket.write('HTTP/1.1 200 OK\r\n');
        return this.#drip(() => socket.write('a:\r\n'.repeat(2_048)), 1);
      default:
        unreachable(mode);
    }
  }

  #drip(write: () => void, intervalMs: number): void {
    write();
    this.#after(intervalMs, () => this.#drip(write, intervalMs));
  }

  #after(delayMs: number, action: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      action();
    }, delayMs);
    this.#timers.add(timer);
  }
}

type PoliteMode = Extract<
  ReceiverMode,
  { kind: 'ok' | 'status' | 'echo' | 'slow' | 'held' | 'redirect' | 'drip' | 'endless body' }
>;

function end(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-length': String(body.length) });
  response.end(body);
}

/** Writes for as long as the other side reads. */
function pour(target: ServerResponse | Socket, bytes: Buffer): void {
  const more = () => {
    if (target.destroyed) return;
    if (target.write(bytes)) setImmediate(more);
    else target.once('drain', more);
  };
  more();
}
