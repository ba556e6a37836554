import type { Caller } from '../access/caller.ts';
import type { CountedConnection } from './connection-counts.ts';
import type { Topic } from './topic.ts';

/** Where the messages of a client go. */
export interface Outlet {
  /** Sends text, or keeps it for as long as the client does not read. */
  write(text: string): void;
  /** Bytes that the client has not read yet. */
  readonly unsentBytes: number;
  /** Resolves when there are few, or the connection is closed. */
  drained(): Promise<void>;
  /** Ends the connection, with what was written before. */
  end(): void;
  /** Closes the connection at once. */
  cut(): void;
}

/** A client that has left so much unread is cut off before it is sent more, and may resume. */
const unsentBytesMax = 1024 * 1024;

/** A connection that is told of changes, and what it has subscribed to. */
export class Client {
  /** Names the connection in requests that change its subscriptions: whoever knows it may make them. */
  readonly id: string;
  /** The address that it came from, and whom it counts for. */
  readonly connection: CountedConnection;
  readonly #outlet: Outlet;
  readonly #counts: ClientCounts;
  #isClosed = false;
  /** By the text of their topics. */
  subscriptions: ReadonlyMap<string, Subscription> = new Map();
  /** The credentials by which it has subscribed, as in a header. */
  authorization: string | undefined;
  /** Who that was. Who it still is, is found out before anything is told (callers.ts). */
  caller: Caller | undefined;
  /** When it was last without any subscription, by the monotonic clock. */
  idleSinceMs: number;

  constructor(outlet: Outlet, { id, connection, nowMs, counts }: ClientOptions) {
    this.#outlet = outlet;
    this.#counts = counts;
    this.id = id;
    this.connection = connection;
    this.idleSinceMs = nowMs;
  }

  get address(): string {
    return this.connection.address;
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

  /** Sends a comment, so that nothing on the way takes the connection for dead. */
  beat(): void {
    this.#write(':\n\n');
  }

  /** Whether it is better to wait for the client than to send it more, where that is possible. */
  get isBehind(): boolean {
    return this.#outlet.unsentBytes > unsentBytesMax / 4;
  }

  /** Resolves when the client has read most of what it was sent. */
  async drained(): Promise<void> {
    if (!this.#isClosed) await this.#outlet.drained();
  }

  /** Ends the connection; the client waits for so long before it connects again. */
  end(retryMs?: number): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (retryMs !== undefined) this.#outlet.write(`retry:${retryMs}\n\n`);
    this.#outlet.end();
  }

  /** Closes the connection at once: it may have missed something, and is to connect again. */
  cut(): void {
    this.#isClosed = true;
    this.#outlet.cut();
  }

  /** Notes that the connection was closed from the other side. */
  noteClosed(): void {
    this.#isClosed = true;
  }

  #write(text: string): void {
    if (this.#isClosed) return;
    // Before the message, which alone may be larger.
    if (this.#outlet.unsentBytes > unsentBytesMax) return this.cut();
    this.#outlet.write(text);
  }
}

/** What is counted of all clients together. */
export interface ClientCounts {
  connections: number;
  messages: number;
}

interface ClientOptions {
  readonly id: string;
  readonly connection: CountedConnection;
  readonly nowMs: number;
  readonly counts: ClientCounts;
}

/** A topic of one client. */
export interface Subscription {
  readonly client: Client;
  readonly topic: Topic;
  /** Up to where in the log it was told; the largest number for one that is told of what comes from now on. */
  position: number;
  /** The end of the log when it was asked for: what lies before that is told as it may be seen now. */
  askedAt: number;
  /** Set when its client has given it up. */
  isOver: boolean;
}
