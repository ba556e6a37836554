import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';

const sync = promisify(fdatasync);

/** Syncs the write-ahead log of a file from a thread of libuv's pool, so that this thread goes on meanwhile. */
export class LogSync {
  readonly #path: string;
  #descriptor: number | undefined;

  /** `path` is that of the database; its log stays the same file for as long as a connection is open. */
  constructor(path: string) {
    this.#path = `${path}-wal`;
  }

  /** Resolves when all earlier commits are on the disk. Rejects with the system's error; it is then unknown what is on the disk. */
  async sync(): Promise<void> {
    this.#descriptor ??= openSync(this.#path, 'r+');
    await sync(this.#descriptor);
  }

  close(): void {
    const descriptor = this.#descriptor;
    this.#descriptor = undefined;
    try {
      if (descriptor !== undefined) closeSync(descriptor);
    } catch {
      // It is closed all the same.
    }
  }
}
