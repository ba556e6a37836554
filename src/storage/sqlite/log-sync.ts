import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { assert } from '../../base/assert.ts';

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

  /** Whether there is a descriptor to sync by. Asked before a commit that is left to {@link sync}. */
  open(): boolean {
    try {
      this.#descriptor ??= openSync(this.#path, 'r+');
      return true;
    } catch {
      return false;
    }
  }

  /** Resolves when all that was committed before is on the disk. Throws what the system does: then nobody knows what is. */
  sync(): Promise<void> {
    this.#next ??= this.#syncNext(this.#running);
    return this.#next;
  }

  /** Once nobody waits for it any more. */
  close(): void {
    const last = this.#next ?? this.#running;
    void Promise.allSettled([last]).then(() => this.#closeNow());
  }

  #closeNow(): void {
    const descriptor = this.#descriptor;
    this.#descriptor = undefined;
    try {
      if (descriptor !== undefined) closeSync(descriptor);
    } catch {
      // It is closed all the same.
    }
  }

  /** The system tells of a failure once: what was lost then stays lost, however well the next one goes. So that fails as well. */
  async #syncNext(before: Promise<void> | undefined): Promise<void> {
    await before;
    this.#running = this.#next;
    this.#next = undefined;
    assert(this.#descriptor !== undefined, 'a log is opened before it is synced');
    await sync(this.#descriptor);
  }
}
