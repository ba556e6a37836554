import { open, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { randomHex } from '../../base/ids.ts';
import { Poller } from '../../base/poller.ts';
import { Turns } from '../../base/turns.ts';
import type { Reserve } from '../data-home.ts';

const pieceBytes = 1024 * 1024;
/** Random bytes are had in parts. */
const partBytes = 256;
/** As much as the log of a file may take before it is copied, which may let the file grow by as much. */
const reserveBytesMax = 16 * pieceBytes;
/** On a small disk, the reserve takes one part of so many. */
const diskParts = 8;
/** Left free when the reserve is taken back, for logs that are begun anew. */
const spareBytes = 4 * pieceBytes;
const lookIntervalMs = 60_000;
/** A start is not held up by it, and a server that runs for a moment needs none. */
const firstLookMs = 2_000;

/**
 * A file that reserves disk space, and is removed while a work that frees space runs on a full disk. Otherwise SQLite could not
 * delete there: it writes a log first.
 */
export class DiskReserve implements Reserve {
  readonly #directory: string;
  readonly #path: string;
  readonly #foldLog: (instanceId: string) => void;
  readonly #turns = new Turns(1);
  #lent: PromiseWithResolvers<void> | undefined;
  #poller: Poller | undefined;
  #first: NodeJS.Timeout | undefined;

  /** `foldLog` frees the disk space of an instance's log. */
  constructor(directory: string, foldLog: (instanceId: string) => void) {
    this.#directory = directory;
    this.#foldLog = foldLog;
    this.#path = join(directory, 'reserve');
  }

  get whole(): Promise<void> | undefined {
    return this.#lent?.promise;
  }

  /** Makes the reserve, and makes it again when it was used up and there is room. */
  start(): void {
    // Without a reserve everything works that works with it, until the disk is full.
    const poll = (): Promise<void> => this.#turns.run(() => this.#grow());
    this.#poller = new Poller({ intervalMs: lookIntervalMs, poll, onError: () => undefined });
    this.#first = setTimeout(() => void this.#poller?.look(), firstLookMs).unref();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#first);
    await this.#poller?.stop();
  }

  lend<Result>(instanceId: string, work: () => Promise<Result>): Promise<Result> {
    return this.#turns.run(async () => {
      this.#lent = Promise.withResolvers();
      try {
        await rm(this.#path, { force: true });
        return await work();
      } finally {
        this.#fold(instanceId);
        await this.#restore().catch(() => undefined);
        this.#lent.resolve();
        this.#lent = undefined;
      }
    });
  }

  #fold(instanceId: string): void {
    try {
      this.#foldLog(instanceId);
    } catch {
      // What was written stays in the log.
    }
  }

  /** Allocates the reserve: never more than half of the free space. */
  async #grow(): Promise<void> {
    const { whole, free } = await this.#measure();
    await this.#fill(Math.min(whole, (await this.#size()) + Math.floor(free / 2)));
  }

  /** Leaves some space free, but prefers half of the reserve: concurrent writers would otherwise use the free space up, time after time. */
  async #restore(): Promise<void> {
    const { whole, free } = await this.#measure();
    await this.#fill(Math.min(whole, Math.max(free - spareBytes, Math.min(free, whole / 2))));
  }

  async #measure(): Promise<{ readonly whole: number; readonly free: number }> {
    const { bsize, blocks, bavail } = await statfs(this.#directory);
    return {
      whole: Math.min(reserveBytesMax, Math.floor((bsize * blocks) / diskParts)),
      free: bsize * bavail,
    };
  }

  async #size(): Promise<number> {
    return (await stat(this.#path).catch(() => undefined))?.size ?? 0;
  }

  /** Random bytes, which no file system makes smaller. */
  async #fill(bytes: number): Promise<void> {
    const parts = Array.from({ length: pieceBytes / partBytes }, () =>
      Buffer.from(randomHex(partBytes), 'hex'),
    );
    const piece = Buffer.concat(parts);
    const file = await open(this.#path, 'a', 0o600);
    try {
      for (let at = (await file.stat()).size; at < bytes;)
        at += (await file.write(piece, 0, Math.min(pieceBytes, bytes - at))).bytesWritten;
    } finally {
      await file.close();
    }
  }
}
