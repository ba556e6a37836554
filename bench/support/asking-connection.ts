import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/**
 * One kept connection that asks the same URL again and again. By bytes of its own: an HTTP client takes the processors for longer than
 * the service does, and its garbage holds it up for longer than an answer takes.
 */
export class AskingConnection {
  readonly #socket: Socket;
  readonly #get: Buffer;
  /** What a POST begins with. */
  readonly #post: string;
  #waiting: PromiseWithResolvers<void> | undefined;
  /** Bytes of the answer that are still to come; undefined before its head. */
  #left: number | undefined;

  private constructor(socket: Socket, { pathname, host }: URL) {
    this.#socket = socket;
    this.#get = Buffer.from(`GET ${pathname} HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
    this.#post = `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: `;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#waiting?.reject(error));
    socket.on('end', () => this.#waiting?.reject(new Error('The connection was closed.')));
  }

  static async open(url: string): Promise<AskingConnection> {
    const to = new URL(url);
    const socket = connect(Number(to.port), to.hostname);
    await once(socket, 'connect');
    return new AskingConnection(socket, to);
  }

  /**
   * GETs, or POSTs a body of JSON. Resolves with the last byte of the answer, which is thrown away. Throws when it is no 2xx. One at a
   * time.
   */
  ask(body?: string): Promise<void> {
    this.#waiting = Promise.withResolvers();
    this.#left = undefined;
    this.#socket.write(
      body === undefined ? this.#get : `${this.#post}${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    return this.#waiting.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#left ??= lengthOf(chunk);
    if (this.#left === undefined) this.#waiting?.reject(new Error(chunk.toString()));
    else if ((this.#left -= chunk.length) <= 0) this.#waiting?.resolve();
  }
}

/** Of the whole answer, whose head comes in one piece; undefined if it is no 2xx. */
function lengthOf(chunk: Buffer): number | undefined {
  const text = chunk.toString('latin1');
  const head = text.indexOf('\r\n\r\n');
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text)?.[1];
  if (!text.startsWith('HTTP/1.1 2') || length === undefined || head === -1) return undefined;
  return head + '\r\n\r\n'.length + Number(length);
}
