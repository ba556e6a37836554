import type { Caller } from '../access/caller.ts';
import type { QuotaEntry } from './connection-counts.ts';
import type { Topic } from './topic.ts';

/** The connection to a client. */
export interface Connection {
  /** Sends text, or buffers it while the client does not read. */
  write(text: string): void;
  /** Bytes that the client has not read yet. */
  readonly unsentBytes: number;
  /** Resolves when there are few, or the connection is closed. */
  drained(): Promise<void>;
  /** Ends the connection, with what was written before. */
  end(): void;
  /** Closes the connection at once. */
  disconnect(): void;
}

/** A client with so many unread bytes is disconnected before it is sent more, and may resume. */
const unsentBytesMax = 1024 * 1024;

/** A connected client and its subscriptions. */
export class Client {
  /** Identifies the client in requests that change its subscriptions: whoever knows it may send them. */
  readonly id: string;
  /** Its address, and whose quota it counts against. */
  readonly quotaEntry: QuotaEntry;
  readonly #connection: Connection;
  readonly #counts: ClientCounts;
  #isClosed = false;
  /** By the text of their topics. */
  subscriptions: ReadonlyMap<string, Subscription> = new Map();
  /** Texts of its last request that are no topics: it was told so. */
  refusedTopics: ReadonlySet<string> = new Set();
  /** The credentials by which it has subscribed, as in a header. */
  authorization: string | undefined;
  /** The caller at that time. It is authenticated again before each message (callers.ts). */
  caller: Caller | undefined;
  /** When it was last without any subscription, by the monotonic clock. */
  idleSinceMs: number;

  constructor(connection: Connection, { id, quotaEntry, nowMs, counts }: ClientOptions) {
    this.#connection = connection;
    this.#counts = counts;
    this.id = id;
    this.quotaEntry = quotaEntry;
    this.idleSinceMs = nowMs;
  }

  /** The characters of all that it has subscribed to, or tried to. */
  get textLength(): number {
    return lengthOf(this.subscriptions.keys()) + lengthOf(this.refusedTopics);
  }

  get address(): string {
    return this.quotaEntry.address;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Sends a message; `data` is JSON text, which has no line breaks. */
  send(name: string, data: string): void {
    // No blanks, and the id in each message: http-api.md section 16.
    if (!this.#isClosed) this.#counts.messages += 1;
    this.#write(`id:${this.id}\nevent:${name}\ndata:${data}\n\n`);
  }

  /** Sends a comment, so that no proxy closes the connection as idle. */
  heartbeat(): void {
    this.#write(':\n\n');
  }

  /** Whether it is better to wait for the client than to send it more, where that is possible. */
  get isBehind(): boolean {
    return this.#connection.unsentBytes > unsentBytesMax / 4;
  }

  /** Resolves when the client has read most of its messages. */
  async drained(): Promise<void> {
    if (!this.#isClosed) await this.#connection.drained();
  }

  /** Ends the connection; the client waits for so long before it connects again. */
  end(retryMs?: number): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (retryMs !== undefined) this.#connection.write(`retry:${retryMs}\n\n`);
    this.#connection.end();
  }

  /** Closes the connection at once: the client may have missed a message, and has to connect again. */
  disconnect(): void {
    this.#isClosed = true;
    this.#connection.disconnect();
  }

  /** Notes that the connection was closed from the other side. */
  noteClosed(): void {
    this.#isClosed = true;
  }

  #write(text: string): void {
    if (this.#isClosed) return;
    // Before the message, which alone may be larger.
    if (this.#connection.unsentBytes > unsentBytesMax) return this.disconnect();
    this.#connection.write(text);
  }
}

/** The characters of texts together. */
export function lengthOf(texts: Iterable<string>): number {
  let sum = 0;
  for (const { length } of texts) sum += length;
  return sum;
}

/** The counts of all clients together. */
export interface ClientCounts {
  connections: number;
  messages: number;
}

interface ClientOptions {
  readonly id: string;
  readonly quotaEntry: QuotaEntry;
  readonly nowMs: number;
  readonly counts: ClientCounts;
}

/** A topic of one client. */
export interface Subscription {
  readonly client: Client;
  readonly topic: Topic;
  /** The last position of the log that was sent; the largest number for a subscription that begins now. */
  position: number;
  /** The end of the log at the request: changes before it are sent as they may be seen now. */
  requestedAt: number;
  /** Set when its client has unsubscribed. */
  isOver: boolean;
}
