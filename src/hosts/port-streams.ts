import { Readable, Writable } from 'node:stream';
import type { MessagePort } from 'node:worker_threads';

/** How many bytes may be on their way to a reader that has not taken them. */
const windowBytes = 256 * 1024;

/**
 * Writes bytes to a reader in another thread, at its pace: each piece is a message, and the reader reports what it has taken. It closes when
 * all was taken, or when the other end is gone.
 */
export class PortWriter extends Writable {
  readonly #port: MessagePort;
  #untaken = 0;
  #resume: (() => void) | undefined;

  constructor(port: MessagePort) {
    super();
    this.#port = port;
    // Only a PortReader holds the other end.
    port.on('message', (bytes: number) => this.#note(bytes));
    port.once('close', () => this.destroy());
  }

  /** Bytes that the reader has not taken. */
  get unsentBytes(): number {
    return this.writableLength + this.#untaken;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    // A copy of exactly these bytes: a buffer may be a part of one that others use.
    const bytes = new Uint8Array(chunk);
    this.#untaken += bytes.length;
    this.#port.postMessage(bytes, [bytes.buffer]);
    if (this.#untaken < windowBytes) done();
    else this.#resume = done;
  }

  override _final(done: () => void): void {
    // eslint-disable-next-line unicorn/require-post-message-target-origin
    this.#port.postMessage(null);
    if (this.#untaken === 0) done();
    else this.#resume = done;
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#port.close();
    done(error);
  }

  #note(bytes: number): void {
    this.#untaken -= bytes;
    const mayGoOn = this.writableEnded ? this.#untaken === 0 : this.#untaken < windowBytes;
    if (!mayGoOn || this.#resume === undefined) return;
    const resume = this.#resume;
    this.#resume = undefined;
    resume();
  }
}

/** Reads what a {@link PortWriter} in another thread writes. It fails when that is gone before its end. */
export class PortReader extends Readable {
  readonly #port: MessagePort;
  #unreported = 0;
  #hasAll = false;

  constructor(port: MessagePort) {
    super();
    this.#port = port;
    // Only a PortWriter holds the other end.
    port.on('message', (bytes: Uint8Array | null) => this.#take(bytes));
    port.once('close', () => {
      if (!this.#hasAll) this.destroy(new Error('The other thread has ended the stream.'));
    });
  }

  override _read(): void {
    if (this.#unreported > 0) this.#report(this.#unreported);
    this.#unreported = 0;
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#port.close();
    done(error);
  }

  #take(bytes: Uint8Array | null): void {
    if (bytes === null) {
      this.#hasAll = true;
      this.push(null);
      // It is not asked for more, and the writer waits for this.
      this._read();
      return;
    }
    if (this.push(Buffer.from(bytes.buffer))) this.#report(bytes.length);
    else this.#unreported += bytes.length;
  }

  #report(bytes: number): void {
    this.#port.postMessage(bytes, []);
  }
}
