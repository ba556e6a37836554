import type { Socket } from 'node:net';
import type { Client, Dispatcher } from 'undici';
import type { ConnectRun, ConnectTimings } from '../network/guarded-connect.ts';
import { AnswerLimit } from './answer-limit.ts';
import { type Http2Request, type Http2Session, noController } from './http2-session.ts';

/** How a request is sent: over a connection of its own, or as one of several. */
type Way = 'http/1.1' | Http2Session;

/** One connect for an idle connection that the receiver had closed, and one more in case the new one closes too. */
const connectsPerAttemptMax = 2;

/**
 * One connection to one endpoint, carrying one request at a time. undici reconnects by itself when the socket of an unsent request
 * closes; a receiver that always hangs up at once would make that a loop, so connects are counted.
 */
export class GuardedConnection {
  readonly #makeClient: () => Client;
  readonly #wayOf: () => Way | Promise<Way>;
  /** For HTTP/1.1; undefined where none was needed. */
  #client: Client | undefined;
  /** Cancels the request under way, over HTTP/2. */
  #cancel: (() => void) | undefined;
  /** Open already, but not used by undici yet. */
  #adopted: Socket | undefined;
  /** Changes with each request, and when it is discarded. */
  #turn = 0;
  #deadline = 0;
  #connectsLeft = 0;
  #timings: ConnectTimings = noTimings();
  #connecting: AbortController | null = null;
  #socket: Socket | null = null;
  readonly #limit = new AnswerLimit();
  #isReused = false;
  /** `clock.monotonic()` when the current socket began to be opened. */
  openedAt = Infinity;

  /** `wayOf` says how a request is sent; without it, over HTTP/1.1. */
  constructor(makeClient: () => Client, wayOf: () => Way | Promise<Way> = () => 'http/1.1') {
    this.#makeClient = makeClient;
    this.#wayOf = wayOf;
  }

  /** Whether it has a connection of its own, over HTTP/1.1. */
  get isOpen(): boolean {
    return this.#client !== undefined;
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
    this.#cancel = undefined;
    this.#turn += 1;
    const turn = this.#turn;
    const send = (way: Way): void => {
      if (turn !== this.#turn) return void this.#adopted?.destroy();
      // Others that waited for it as well may have filled it.
      if (way === 'http/1.1' || way.hasRoom) this.#send(way, options, handler);
      else begin();
    };
    const begin = (): void => {
      const way = this.#wayOf();
      if (!(way instanceof Promise)) return send(way);
      way.then(send).catch(fail);
    };
    const fail = (error: unknown): void => {
      if (turn === this.#turn) handler.onResponseError?.(noController, toError(error));
    };
    begin();
  }

  #send(way: Way, options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    if (way === 'http/1.1') {
      this.#limit.begin();
      this.#isReused = this.#socket !== null;
      this.#client ??= this.#makeClient();
      this.#client.dispatch(options, handler);
      return;
    }
    // Once: there may always be another connection that others have used.
    const isFirst = this.#turn === 1;
    this.#isReused = isFirst && way.requestCount > 0 && way.streamCount === 0;
    // Requests of this folder have these forms alone.
    const { method, path, headers, body } = options as Http2Request;
    const onRefused = (): void => void (this.#isReused = isFirst);
    this.#cancel = way.request({ method, path, headers, body, onRefused }, handler);
  }

  /** Takes a socket that is open, for the next request over HTTP/1.1. */
  adopt(socket: Socket): void {
    this.#adopted = socket;
  }

  takeAdopted(): Socket | undefined {
    const socket = this.#adopted;
    this.#adopted = undefined;
    return socket;
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
    this.#turn += 1;
    this.#connecting?.abort();
    this.#adopted?.destroy();
    this.#cancel?.();
    void this.#client?.destroy();
  }
}

export function noTimings(): ConnectTimings {
  return { dnsMs: null, connectMs: null, tlsMs: null };
}

export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
