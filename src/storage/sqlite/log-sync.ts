import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { systemClock } from '../../base/clock.ts';

const syncAside = promisify(fdatasync);

/** A sync that takes longer blocks nobody again soon. Crossing to another thread and back costs a fifth of a create (decision 18). */
const quickSyncMs = 1;

/** So many quick syncs in a row show that the disk is a quick one, or has become one again. */
const quickSyncs = 64;

/**
 * Syncs the write-ahead log of a file: on this thread while the disk is quick, otherwise from a thread of libuv's pool, so that this
 * thread goes on meanwhile.
 */
export class LogSync {
  readonly #path: string;
  #descriptor: number | undefined;
  #quickInRow = 0;

  /** `path` is that of the database; its log stays the same file for as long as a connection is open. */
  constructor(path: string) {
    this.#path = `${path}-wal`;
  }

  /** Resolves when all earlier commits are on the disk. Rejects with the system's error; it is then unknown what is on the disk. */
  async sync(): Promise<void> {
    this.#descriptor ??= openSync(this.#path, 'r+');
    const startMs = systemClock.monotonic();
    if (this.#quickInRow >= quickSyncs) fdatasyncSync(this.#descriptor);
    else await syncAside(this.#descriptor);
    this.#quickInRow = systemClock.monotonic() - startMs > quickSyncMs ? 0 : this.#quickInRow + 1;
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
