import type { Writable } from 'node:stream';
import type { Connection } from '../realtime/client.ts';

/** Writes to an answer that stays open. A class, as each connection has one: an object with functions of its own takes 800 bytes more. */
export class StreamConnection implements Connection {
  readonly #stream: Writable;

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  write(text: string): void {
    this.#stream.write(text);
  }

  get unsentBytes(): number {
    return this.#stream.writableLength;
  }

  drained(): Promise<void> {
    const stream = this.#stream;
    return new Promise((resolve) => {
      if (!stream.writableNeedDrain) return resolve();
      stream.once('drain', resolve).once('close', resolve);
    });
  }

  end(): void {
    this.#stream.end();
  }

  disconnect(): void {
    this.#stream.destroy();
  }
}
