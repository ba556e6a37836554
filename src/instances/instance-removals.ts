import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import { fromTimestamp } from '../base/timestamp.ts';
import { removeAllFiles } from '../files/file-sweeper.ts';
import type { DataHome } from '../storage/data-home.ts';
import { forgetDue } from './due-index.ts';
import type { InstanceDirectory } from './instance-directory.ts';
import type { InstanceRow, StoredInstance } from './instance-rows.ts';
import type { OpenInstances } from './open-instances.ts';

const intervalMs = 3_600_000;
const dayMs = 86_400_000;
/** What other processes have begun in an instance ends in this time: they see that it is deleted, and attempts of webhooks time out. */
const graceMsMin = 60_000;
/** Whoever fills an instance says so three times a minute. */
const abandonedMs = 600_000;
/** How long an import that was cut off can go on. */
const resumableMs = dayMs;

export interface InstanceRemovalsOptions {
  readonly directory: Pick<InstanceDirectory, 'list' | 'advanceRemoval' | 'forget'>;
  readonly instances: Pick<OpenInstances, 'borrow' | 'isOpen' | 'retire' | 'closed'>;
  readonly home: Pick<DataHome, 'control' | 'removeInstance'>;
  /** The folder with a folder for the files of each instance, by its id. */
  readonly folder: string;
  /** The folder with a folder for the backups of each instance, by what it is known by. */
  readonly backups: string;
  /** How long a deleted instance can be restored. */
  readonly deletedDays: number;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/** Returns when a deleted instance can no longer be restored, in milliseconds since 1970. */
export function removalDue(
  { stateSince, isReplaced }: Pick<InstanceRow, 'stateSince' | 'isReplaced'>,
  deletedDays: number,
): number {
  const daysMin = isReplaced ? 1 : 0;
  return fromTimestamp(stateSince) + Math.max(deletedDays * dayMs, daysMin * dayMs, graceMsMin);
}

/**
 * Removes deleted instances for good once they can no longer be restored: files, data, row, in this order, each noted in the directory before
 * it begins. So a removal that was interrupted is taken up again, by this process or another.
 */
export class InstanceRemovals {
  readonly #options: InstanceRemovalsOptions;
  readonly #poller: Poller;
  #isStopping = false;

  constructor(options: InstanceRemovalsOptions) {
    this.#options = options;
    const onError = (error: unknown): void =>
      options.logger.warn('Looking for deleted instances failed; retrying.', { error });
    this.#poller = new Poller({ intervalMs, poll: () => this.#removeDue(), onError });
  }

  /** Looks for instances to remove, at once or after a look that is running. Never rejects. */
  look(): Promise<void> {
    return this.#poller.look();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#poller.stop();
  }

  async #removeDue(): Promise<void> {
    const { directory, instances, deletedDays, clock, logger } = this.#options;
    for (const one of await directory.list()) {
      if (this.#isStopping) return;
      // Whoever fills an instance renews the time of its state.
      const keptMs = one.isResumable ? resumableMs : abandonedMs;
      const isAbandoned = one.state === 'filling' && fromTimestamp(one.stateSince) + keptMs <= clock.now();
      const isBegun = one.state === 'emptying' || one.state === 'removing' || isAbandoned;
      const isDue = one.state === 'deleted' && removalDue(one, deletedDays) <= clock.now();
      if (!isBegun && !isDue) continue;
      // Something that was begun before has not ended.
      if (isDue && instances.isOpen(one.id)) continue;
      try {
        await this.#remove(one);
      } catch (error) {
        // Another node was faster.
        if (error instanceof AppError && error.code === 'not_found') continue;
        logger.warn('A deleted instance could not be removed; retrying in an hour.', {
          instance: one.id,
          error,
        });
      }
    }
  }

  async #remove(one: InstanceRow): Promise<void> {
    const { directory, home, folder, backups, logger } = this.#options;
    const { id, shownId, slug } = one;
    if (one.state === 'filling') {
      if (!(await directory.advanceRemoval(id, 'filling', 'removing'))) return;
    } else if (one.state !== 'removing') {
      if (!(await directory.advanceRemoval(id, 'deleted', 'emptying'))) return;
      // Its successor may keep files in the same bucket.
      if (!one.isReplaced) await this.#removeRemoteFiles(one);
      await directory.advanceRemoval(id, 'emptying', 'removing');
    }
    await home.removeInstance(id);
    await rm(join(folder, id), { recursive: true, force: true });
    // One that was replaced has left them to its successor, and is known by something else since.
    if (one.state !== 'filling') await rm(join(backups, shownId), { recursive: true, force: true });
    await forgetDue(home.control, id);
    await directory.forget(one);
    logger.info('A deleted instance was removed with its data.', { instance: id, slug });
  }

  /** Only its own settings say where its files are. */
  async #removeRemoteFiles(one: StoredInstance): Promise<void> {
    const { instances, logger } = this.#options;
    const loan = await instances.borrow(one);
    try {
      const { settings, collections } = loan.instance;
      if (settings.current.s3.enabled) await removeAllFiles(loan.instance, collections.all(), logger);
    } finally {
      loan.release();
      instances.retire(one.id);
      await instances.closed(one.id);
    }
  }
}
