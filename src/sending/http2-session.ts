import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
  OutgoingHttpHeaders,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import { codeOf } from '../base/process.ts';
import { ConnectFailure } from '../network/open-socket.ts';
import { AnswerTooLong } from './answer-limit.ts';

/** `node:http2` without an import statement, as in `nodeTls`: it is loaded for the first receiver that speaks it. */
const http2 = () => process.getBuiltinModule('node:http2');

/** Requests open on one connection: what happens to it happens to all of them. */
export const streamsMax = 32;
const headerBytesMax = 16 * 1024;
/** Header fields of a response, and its interim responses. */
const headerPairsMax = 128;
const interimsMax = 32;
const bodyBytesMax = 256 * 1024;
/** Frames that answer no request, as PING and SETTINGS: a receiver has no use for more of them. */
const controlFramesMax = 256;
/** Bodies of open requests after which another connection is used: they are buffered for as long as the receiver reads slowly. */
const sentBytesMax = 1024 * 1024;
/** What the session may buffer, in MB: these, one more of the longest, and what is read. */
const memoryMax = 8;

export interface Http2Request {
  readonly method: string;
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: Uint8Array | string | undefined;
  /** Called before the error of a request that the receiver has not read, and says so: as it goes away, say. */
  readonly onRefused?: () => void;
}

/**
 * One connection to one receiver over HTTP/2. It carries several requests at once, each bounded as over HTTP/1.1. undici can speak HTTP/2 too,
 * but an error of a connection has ended processes there; here the errors of all parts have a listener, and each ends requests, never the thread.
 */
export class Http2Session {
  readonly #session: ClientHttp2Session;
  readonly #authority: string;
  readonly #streams = new Set<ClientHttp2Stream>();
  #isRetired = false;
  #sentBytes = 0;
  #frames = 0;
  /** How many requests it has carried. */
  requestCount = 0;
  /** `clock.monotonic()` when it was opened, and when its last request ended. */
  readonly openedAt: number;
  idleSince: number;

  constructor(socket: Socket, { origin, now }: { readonly origin: string; readonly now: () => number }) {
    this.#authority = new URL(origin).host;
    this.openedAt = now();
    this.idleSince = this.openedAt;
    this.#now = now;
    this.#session = http2().connect(origin, {
      createConnection: () => socket,
      settings: { enablePush: false, maxHeaderListSize: headerBytesMax },
      maxSessionMemory: memoryMax,
      maxHeaderListPairs: headerPairsMax,
      maxReservedRemoteStreams: 0,
      maxSettings: 32,
    });
    // Each open request learns of it by its own stream.
    this.#session.on('error', () => this.retire());
    this.#session.on('close', () => this.retire());
    this.#session.on('goaway', () => this.retire());
    for (const event of ['ping', 'remoteSettings', 'altsvc', 'origin'])
      this.#session.on(event, () => this.#countFrame());
  }

  readonly #now: () => number;

  get streamCount(): number {
    return this.#streams.size;
  }

  /** Whether it takes no more requests, and none is open. */
  get isOver(): boolean {
    return this.#session.destroyed || (this.#isRetired && this.#streams.size === 0);
  }

  /** Whether it may carry one more request. */
  get hasRoom(): boolean {
    const { maxConcurrentStreams = streamsMax } = this.#session.remoteSettings ?? {};
    const isFull = this.#streams.size >= Math.min(streamsMax, maxConcurrentStreams);
    return !this.#isRetired && !this.#session.destroyed && !isFull && this.#sentBytes < sentBytesMax;
  }

  /** Sends a request, and returns what cancels it. The handler is called as undici calls it; without a controller, as ours use none. */
  request(request: Http2Request, handler: Dispatcher.DispatchHandler): () => void {
    const exchange = new Exchange(handler);
    this.requestCount += 1;
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request(headersOf(request, this.#authority), {
        endStream: request.body === undefined,
      });
    } catch (error) {
      queueMicrotask(() => exchange.fail(this.#unsent(error, request)));
      return () => exchange.cancel();
    }
    const bytes = Buffer.byteLength(request.body ?? '');
    this.#sentBytes += bytes;
    this.#streams.add(stream);
    stream.on('headers', () => exchange.onInterim(stream));
    stream.on('response', (headers) => exchange.onResponse(stream, headers));
    stream.on('data', (chunk: Buffer) => exchange.onData(stream, chunk));
    stream.on('end', () => exchange.onEnd());
    const fail = (error?: Error): void => {
      if (stream.rstCode === http2().constants.NGHTTP2_REFUSED_STREAM) request.onRefused?.();
      exchange.fail(failureOf(stream.rstCode, error));
    };
    stream.on('error', fail);
    stream.on('close', () => {
      this.#streams.delete(stream);
      this.#sentBytes -= bytes;
      this.idleSince = this.#now();
      if (this.#isRetired && this.#streams.size === 0) this.#session.destroy();
      fail();
    });
    if (request.body !== undefined) stream.end(request.body);
    return () => {
      exchange.cancel();
      // One that does not answer may be gone: others are sent over another connection, as over HTTP/1.1.
      this.retire();
      stream.close(http2().constants.NGHTTP2_CANCEL);
    };
  }

  /** Why a request could not be sent: the connection has just ended, or one of its headers is none over HTTP/2. */
  #unsent(error: unknown, { onRefused }: Http2Request): Error {
    const code = codeOf(error);
    if (!/SESSION|OUT_OF_STREAMS/.test(code))
      return Object.assign(new Error('Not sent.'), { code: 'UND_ERR_INVALID_ARG' });
    this.retire();
    onRefused?.();
    return new ConnectFailure('connect', closedWords, error);
  }

  /** Takes no more requests; those that are open may end. */
  retire(): void {
    this.#isRetired = true;
    if (this.#streams.size === 0) this.#session.destroy();
  }

  destroy(): void {
    this.#isRetired = true;
    this.#session.destroy();
  }

  #countFrame(): void {
    this.#frames += 1;
    if (this.#frames > controlFramesMax + this.requestCount) this.destroy();
  }
}

/** One request and its response, which ends once: by its last byte, an error, or cancelled. */
class Exchange {
  readonly #handler: Dispatcher.DispatchHandler;
  #isOver = false;
  #hasStatus = false;
  #interims = 0;
  #bytes = 0;
  /** Of the body, as the header says; 0 where it does not. */
  #length = 0;

  constructor(handler: Dispatcher.DispatchHandler) {
    this.#handler = handler;
  }

  onInterim(stream: ClientHttp2Stream): void {
    this.#handler.onResponseStarted?.();
    this.#interims += 1;
    if (this.#interims > interimsMax) this.#tooLong(stream);
  }

  onResponse(stream: ClientHttp2Stream, headers: IncomingHttpHeaders): void {
    if (this.#isOver) return;
    this.#handler.onResponseStarted?.();
    const entries = Object.entries(headers).filter(([name]) => !name.startsWith(':'));
    const bytes = entries.reduce((sum, [name, value]) => sum + name.length + String(value).length, 0);
    if (bytes > headerBytesMax) return this.#tooLong(stream);
    this.#hasStatus = true;
    this.#length = Number(headers['content-length'] ?? 0);
    const status = Number(headers[':status']);
    this.#handler.onResponseStart?.(noController, status, Object.fromEntries(entries), '');
  }

  onData(stream: ClientHttp2Stream, chunk: Buffer): void {
    if (this.#isOver) return;
    this.#bytes += chunk.length;
    if (this.#bytes > bodyBytesMax) return this.#tooLong(stream);
    this.#handler.onResponseData?.(noController, chunk);
  }

  onEnd(): void {
    // The end of a stream that was closed without an answer.
    if (!this.#hasStatus) return this.fail(new ConnectionEnded());
    // nghttp2 checks it where the stream ends, but not where the connection does.
    if (this.#bytes < this.#length) return this.fail(new ConnectionEnded());
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handler.onResponseEnd?.(noController, {});
  }

  fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handler.onResponseError?.(noController, error);
  }

  cancel(): void {
    this.#isOver = true;
  }

  #tooLong(stream: ClientHttp2Stream): void {
    this.fail(new AnswerTooLong('The answer is longer than what is parsed.'));
    stream.close(http2().constants.NGHTTP2_CANCEL);
  }
}

/** The handlers of this folder use none. */
export const noController: Dispatcher.DispatchController = {
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
  aborted: false,
  paused: false,
  reason: null,
};

function headersOf({ method, path, headers, body }: Http2Request, authority: string): OutgoingHttpHeaders {
  const fields: Record<string, string> = {
    ':method': method,
    ':path': path,
    ':scheme': 'https',
    ':authority': authority,
  };
  for (let at = 0; at < headers.length; at += 2)
    fields[String(headers[at]).toLowerCase()] = headers[at + 1] ?? '';
  if (body !== undefined) fields['content-length'] = String(Buffer.byteLength(body));
  return fields;
}

const closedWords = 'The connection was closed without an answer.';

/** Why a stream ended before its answer was complete. What the receiver has refused was not read, like a request that met a closed connection. */
function failureOf(code: number | undefined, error?: Error): Error {
  const { constants } = http2();
  if (code === constants.NGHTTP2_REFUSED_STREAM)
    return new ConnectFailure('connect', 'The receiver refused the request (REFUSED_STREAM).', error);
  if (code === undefined || code === constants.NGHTTP2_NO_ERROR || code === constants.NGHTTP2_CANCEL)
    return new ConnectionEnded(error);
  if (code === constants.NGHTTP2_INTERNAL_ERROR && error === undefined) return new ConnectionEnded();
  return new ConnectFailure('protocol', `The receiver reset the request (HTTP/2 error ${code}).`, error);
}

/** The connection ended, or the request alone without a reason. As a socket that is closed, whatever of the answer had arrived. */
class ConnectionEnded extends Error {
  override readonly name = 'ConnectionEnded';
  readonly code = 'ECONNRESET';

  constructor(cause?: Error) {
    super('The connection ended.', { cause });
  }
}
