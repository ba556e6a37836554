import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { assert } from '../../base/assert.ts';

const sync = promisify(fdatasync);

/**
 * Syncs the write-ahead log of a file from a thread of libuv's pool, so that this thread goes on meanwhile. One sync runs at a time;
 * callers that come while it runs share the next one, because the running one may have begun before their commit.
 */
export class LogSync {
  readonly #path: string;
  #descriptor: number | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /** `path` is that of the database; its log stays the same file for as long as a connection is open. */
  constructor(path: string) {
    this.#path = `${path}-wal`;
  }

  /** Opens the log; returns false if that fails. Called before a commit that leaves its sync to {@link sync}. */
  open(): boolean {
    try {
      this.#descriptor ??= openSync(this.#path, 'r+');
      return true;
    } catch {
      return false;
    }
  }

  /** Resolves when all earlier commits are on the disk. Rejects with the system's error; it is then unknown what is on the disk. */
  sync(): Promise<void> {
    this.#next ??= this.#syncNext(this.#running);
    return this.#next;
  }

  /** Closes the log after the last sync. */
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

  /** Fails if the sync before failed: the system reports lost pages only once, and a later sync that succeeds does not bring them back. */
  async #syncNext(before: Promise<void> | undefined): Promise<void> {
    await before;
    this.#running = this.#next;
    this.#next = undefined;
    assert(this.#descriptor !== undefined, 'a log is opened before it is synced');
    await sync(this.#descriptor);
  }
}
