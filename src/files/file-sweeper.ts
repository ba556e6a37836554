import { areFilesCounted, freeFileRoom } from './file-quota.ts';
import { opendir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { busy } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import { codeOf } from '../base/process.ts';
import type { Collection } from '../collections/collection.ts';
import type { Database } from '../storage/database.ts';
import {
  allDueAt,
  dueAt,
  type FilesInstance,
  forgetRemovals,
  isFileKey,
  noteLostFiles,
  readDue,
  readNextDue,
  removalTimes,
} from './file-removals.ts';

const intervalMs = 10 * 60_000;
/** Files of one work, and how many of them are removed at the same time. */
const togetherMax = 256;
const parallelMax = 8;
/** How long a file that could not be removed is left alone: not so long that an upload could be claimed in this time. */
const retryMs = removalTimes.marginMs - 60_000;
/** How long an upload that came in halfway, or that nothing became of, lies around when its process has died. */
const uploadMs = removalTimes.unclaimedMs;

const never = Number.POSITIVE_INFINITY;

export interface FileSweeperOptions {
  readonly borrow: (
    instanceId: string,
  ) => Promise<{ readonly instance: FilesInstance; release(): void } | undefined>;
  /** Where an instance keeps its uploads. */
  readonly uploadFolderOf: (instanceId: string) => string;
  /** The instances in whose folders for uploads other processes may have left files; none where `note` is called for these. */
  readonly instances: () => Iterable<string>;
  /** Finds the instances in which something is due, where other nodes may have noted it. */
  readonly findDue?: ((now: number) => Promise<readonly string[]>) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Removes the files that are due, and what processes that died have left in the folders for uploads: after a commit that made some due, and
 * every ten minutes. Several nodes may do the same at once, as a removal can be repeated.
 */
export class FileSweeper {
  readonly #options: FileSweeperOptions;
  /** Instances in which files are due. */
  readonly #waiting = new Set<string>();
  /** When an instance next has something to sweep (milliseconds since 1970), as far as this process knows; infinity for never. */
  readonly #nextDue = new Map<string, number>();
  #sweeping: Promise<void> | undefined;
  #sweepingUploads: Promise<void> | undefined;
  #poller: Poller | undefined;
  #isRunning = false;

  constructor(options: FileSweeperOptions) {
    this.#options = options;
  }

  start(): void {
    this.#isRunning = true;
    const { logger } = this.#options;
    const onError = (error: unknown): void => logger.warn('Files could not be removed.', { error });
    this.#poller = new Poller({ intervalMs, poll: () => this.sweep(), onError });
    this.#sweepingUploads = this.#sweepUploads();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#poller?.stop();
    await this.#sweepingUploads;
    while (this.#sweeping !== undefined) await this.#sweeping;
  }

  /** Says that files of an instance have been noted, to be removed at `due` (milliseconds since 1970). Does nothing before the start. */
  note(instanceId: string, due: number): void {
    if (!this.#isRunning) return;
    if (due <= this.#options.clock.now()) this.#begin(instanceId);
    else this.#noteLater(instanceId, due);
  }

  /** Sweeps all instances in which something may be due. */
  async sweep(): Promise<void> {
    const now = this.#options.clock.now();
    const noted = [...this.#nextDue].flatMap(([id, due]) => (due <= now ? [id] : []));
    const ofOthers = (await this.#options.findDue?.(now)) ?? [];
    for (const id of new Set([...noted, ...ofOthers])) {
      if (!this.#isRunning) return;
      this.#begin(id);
      await this.#sweeping;
    }
    await this.#sweeping;
  }

  /** Sweeps one instance. Rejects where files of it could not be removed. */
  async sweepInstance(id: string, signal: AbortSignal): Promise<void> {
    this.#noteLater(id, await this.#sweepOne(id, () => signal.aborted));
  }

  async #sweepUploads(): Promise<void> {
    for (const id of this.#options.instances())
      try {
        if (this.#isRunning) this.#noteLater(id, await this.#sweepUploadsOf(id));
      } catch (error) {
        this.#options.logger.warn('Old uploads of an instance could not be removed.', {
          instance: id,
          error,
        });
      }
  }

  #sweepUploadsOf(id: string): Promise<number> {
    const { uploadFolderOf, clock } = this.#options;
    return removeOldUploads(uploadFolderOf(id), clock.now());
  }

  #noteLater(id: string, due: number): void {
    const first = Math.min(due, this.#nextDue.get(id) ?? never);
    if (first < never) this.#nextDue.set(id, first);
  }

  #begin(instanceId: string): void {
    this.#waiting.add(instanceId);
    this.#sweeping ??= this.#sweepWaiting();
  }

  async #sweepWaiting(): Promise<void> {
    // What is added meanwhile comes last.
    for (const id of this.#waiting) {
      if (!this.#isRunning) break;
      this.#waiting.delete(id);
      // Looked at again if this fails, and whatever is noted meanwhile counts.
      this.#nextDue.delete(id);
      try {
        this.#noteLater(id, await this.#sweepOne(id, () => !this.#isRunning));
      } catch (error) {
        this.#noteLater(id, this.#options.clock.now());
        const members = { instance: id, error };
        this.#options.logger.warn('Files of an instance could not be removed; retrying.', members);
      }
    }
    this.#sweeping = undefined;
  }

  /** Returns when something is due next. */
  async #sweepOne(id: string, isEnding: () => boolean): Promise<number> {
    const loan = await this.#options.borrow(id);
    if (loan === undefined) return never;
    try {
      while ((await removeSome(loan.instance, this.#options.logger)).mayHaveMore && !isEnding());
      return Math.min((await readNextDue(loan.instance.database)) ?? never, await this.#sweepUploadsOf(id));
    } finally {
      loan.release();
    }
  }
}

interface RemovedFiles {
  /** How many could not be removed. */
  readonly leftCount: number;
  readonly mayHaveMore: boolean;
}

/** Removes some of the files that are due. */
async function removeSome(
  { id, database, files, dueClock }: FilesInstance,
  logger: Logger,
): Promise<RemovedFiles> {
  const now = dueClock.now();
  const keys = await readDue(database, { now, max: togetherMax });
  if (keys.length === 0) return { leftCount: 0, mayHaveMore: false };
  const left: string[] = [];
  const areCounted = await areFilesCounted(database);
  const sizes = new Map<string, number>();
  const waiting = keys.values();
  const removeNext = async (): Promise<void> => {
    for (const key of waiting)
      try {
        if (!isFileKey(key)) continue;
        const blob = areCounted ? await files.store.find(key) : undefined;
        await files.store.remove(key);
        sizes.set(key, blob?.size ?? 0);
      } catch (error) {
        left.push(key);
        logger.warn('A file could not be removed; retrying.', { instance: id, key, error });
      }
  };
  await Promise.all(Array.from({ length: parallelMax }, removeNext));
  const removed = keys.filter((key) => !left.includes(key));
  await database.write(async (tx) => {
    // Another node may have removed some of them.
    const own = await forgetRemovals(tx, removed);
    const bytes = own.reduce((sum, key) => sum + (sizes.get(key) ?? 0), 0);
    if (bytes > 0) await freeFileRoom(tx, bytes);
    if (left.length > 0) await dueAt(tx, left, now + retryMs);
  });
  return { leftCount: left.length, mayHaveMore: keys.length === togetherMax };
}

/** Removes all files of an instance that is to go for good. Throws unavailable where one is left: then it can be repeated. */
export async function removeAllFiles(
  instance: FilesInstance,
  collections: readonly Collection[],
  logger: Logger,
): Promise<void> {
  const { database, dueClock } = instance;
  for (const before of collections)
    await database.write((tx) => noteLostFiles(tx, instance, { before, after: undefined }));
  await database.write((tx) => allDueAt(tx, dueClock.now()));
  for (let mayHaveMore = true; mayHaveMore;) {
    const removed = await removeSome(instance, logger);
    if (removed.leftCount > 0) throw busy(new Error(`${removed.leftCount} files could not be removed`));
    mayHaveMore = removed.mayHaveMore;
  }
}

/** Returns when the next one is old; infinity when none is left. */
async function removeOldUploads(folder: string, now: number): Promise<number> {
  let next = never;
  for await (const name of namesIn(folder)) {
    const path = join(folder, name);
    const due = (await modifiedMs(path)) + uploadMs;
    if (due <= now) await rm(path, { force: true });
    else next = Math.min(next, due);
  }
  return next;
}

/** Returns when a file of an instance that nobody uses is to be removed, in milliseconds since 1970; infinity for never. */
export async function readFilesDue(database: Database, uploadFolder: string): Promise<number> {
  return Math.min((await readNextDue(database)) ?? never, await removeOldUploads(uploadFolder, 0));
}

async function* namesIn(folder: string): AsyncIterable<string> {
  try {
    for await (const { name } of await opendir(folder)) yield name;
  } catch (error) {
    // It is made by the first upload.
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

async function modifiedMs(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    // It has become the file of a record meanwhile, or its request is over.
    if (codeOf(error) === 'ENOENT') return Number.POSITIVE_INFINITY;
    throw error;
  }
}
