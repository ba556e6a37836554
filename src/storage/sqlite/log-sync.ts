import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';

const sync = promisify(fdatasync);

/**
 * Brings the log of a file to the disk from a thread of the pool, so that this one goes on meanwhile. One sync at a time, and whoever
 * comes while it runs shares the next: it may have begun before their commit.
 */
export class LogSync {
  readonly #path: string;
  #descriptor: number | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /** `path` is that of the data; its log stays the same file for as long as a connection is open. */
  constructor(path: string) {
    this.#path = `${path}-wal`;
  }

  /** Resolves when all that was committed before is on the disk. Throws what the system does: then nobody knows what is. */
  sync(): Promise<void> {
    this.#next ??= this.#syncNext(this.#running);
    return this.#next;
  }

  /** Once nobody waits for it any more. */
  close(): void {
    const last = this.#next ?? this.#running;
    void Promise.allSettled([last]).then(() => {
      if (this.#descriptor !== undefined) closeSync(this.#descriptor);
      this.#descriptor = undefined;
    });
  }

  async #syncNext(before: Promise<void> | undefined): Promise<void> {
    // Whoever waits for the one before is told how it went.
    await before?.catch(() => undefined);
    this.#running = this.#next;
    this.#next = undefined;
    this.#descriptor ??= openSync(this.#path, 'r+');
    await sync(this.#descriptor);
  }
}
