import type { Socket } from 'node:net';
import type { Client, Dispatcher } from 'undici';
import type { ConnectRun, ConnectTimings } from '../network/guarded-connect.ts';

/** One for an idle connection that the receiver had closed, one more for bad luck. */
const connectsPerAttemptMax = 2;

/**
 * One connection to one endpoint, carrying one request at a time. undici connects again by itself when the socket of an
 * unsent request closes, which a receiver that hangs up at once could turn into a loop: hence the count.
 */
export class GuardedConnection {
  readonly #client: Client;
  #deadline = 0;
  #connectsLeft = 0;
  #timings: ConnectTimings = noTimings();
  #connecting: AbortController | null = null;
  #socket: Socket | null = null;
  #bytesReadBefore = 0;
  #isReused = false;
  /** `clock.monotonic()` when the current socket began to be opened. */
  openedAt = Infinity;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Of the attempt that is under way: all null while it uses a socket that was open before. */
  get timings(): Readonly<ConnectTimings> {
    return this.#timings;
  }

  /** What the attempt under way has received, headers and framing included. */
  get bytesRead(): number {
    return (this.#socket?.bytesRead ?? 0) - this.#bytesReadBefore;
  }

  /** Whether the attempt under way was written to a socket that had carried another before. */
  get isReused(): boolean {
    return this.#isReused;
  }

  /** May be called once more for an attempt whose socket was closed without an answer. */
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler, deadline: number): void {
    this.#deadline = deadline;
    this.#connectsLeft = connectsPerAttemptMax;
    this.#timings = noTimings();
    this.#bytesReadBefore = this.#socket?.bytesRead ?? 0;
    this.#isReused = this.#socket !== null;
    this.#client.dispatch(options, handler);
  }

  /** Called when undici wants a socket; null when this attempt has had its share. */
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
    this.#bytesReadBefore = 0;
    this.#connecting = null;
  }

  /** Destroys the socket, open or opening. The handler of a request that is under way hears of it; nobody else. */
  discard(): void {
    this.#connecting?.abort();
    void this.#client.destroy();
  }
}

function noTimings(): ConnectTimings {
  return { dnsMs: null, connectMs: null, tlsMs: null };
}
