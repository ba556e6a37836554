import type { Socket } from 'node:net';
import type { Client, Dispatcher } from 'undici';
import type { ConnectRun, ConnectTimings } from '../../network/guarded-connect.ts';
import { AnswerLimit } from './answer-limit.ts';

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

  /** Sends a request. May be called again for the same attempt when its socket was closed without an answer. */
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
