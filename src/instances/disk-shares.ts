import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import { DiskSpace, type DiskFolders, type DiskState } from '../limits/disk-space.ts';
import { type DiskUse, readDiskUse } from '../logs/read-usage.ts';
import type { Reader } from '../storage/database.ts';
import type { InstanceDirectory } from './instance-directory.ts';
import { measureDisk } from './measure-instances.ts';
import type { OpenInstances } from './open-instances.ts';

const lookMs = 2_000;
/** How old the uses may be of instances that are not open here. */
const usesMs = 60_000;
const retrySeconds = 30;

export interface DiskSharesOptions {
  readonly folders: DiskFolders;
  readonly instances: Pick<OpenInstances, 'openIds' | 'borrowOpen'>;
  readonly directory: Pick<InstanceDirectory, 'find' | 'all'>;
  /** The shared data, which has the uses of instances that are open elsewhere, or nowhere. */
  readonly control: Reader;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
}

/**
 * Refuses writes while a disk is low, of instances above their share of it. The share is the same for all: what they use on the disk, divided by how
 * many there are, and at least a part of what is reserved. So the one that uses least is never refused, and one that is alone is not. An
 * instance that was not measured yet counts as empty.
 */
export class DiskShares {
  readonly #options: DiskSharesOptions;
  readonly #space: DiskSpace;
  /** The instances above their share of each disk that is low. */
  #above: readonly { readonly holds: DiskState['holds']; readonly ids: ReadonlySet<string> }[] = [];
  #others: { readonly atMs: number; readonly uses: ReadonlyMap<string, DiskUse> } | undefined;
  #poller: Poller | undefined;

  constructor(options: DiskSharesOptions) {
    this.#options = options;
    this.#space = new DiskSpace(options.folders);
  }

  start(): void {
    const { logger } = this.#options;
    const onError = (error: unknown): void =>
      logger.warn('Disk space could not be allocated to instances.', { error });
    this.#poller = new Poller({ intervalMs: lookMs, poll: () => this.look(), onError });
    void this.#poller.look();
  }

  async stop(): Promise<void> {
    await this.#poller?.stop();
  }

  /** How large the disk is that holds data of instances; undefined where none of the service does, or before the first look. */
  get dataDiskBytes(): number | undefined {
    return this.#space.states.find(({ holds }) => holds !== 'files')?.totalBytes;
  }

  /** Throws quota_full where an instance above its share is to store more on a disk that is nearly full. */
  requireRoom(instanceId: string, what: 'data' | 'files'): void {
    const isRefused = this.#above.some(
      ({ holds, ids }) => (holds === 'all' || holds === what) && ids.has(instanceId),
    );
    if (isRefused) throw aboveShare();
  }

  async look(): Promise<void> {
    await this.#space.look();
    const low = this.#space.states.filter(({ isLow }) => isLow);
    const uses = low.length === 0 ? new Map<string, DiskUse>() : await this.#readUses();
    const count = this.#options.directory.all().length;
    this.#above = low.map((disk) => ({ holds: disk.holds, ids: aboveTheirShare(uses, disk, count) }));
  }

  /** Those that are open here as they are now, the others as they were measured last. */
  async #readUses(): Promise<ReadonlyMap<string, DiskUse>> {
    const { instances, directory, logger } = this.#options;
    const uses = new Map([...(await this.#readOthers())].filter(([id]) => directory.find(id) !== undefined));
    for (const id of instances.openIds()) {
      const loan = instances.borrowOpen(id);
      if (loan === undefined) continue;
      try {
        const { onDisk } = await measureDisk(loan.instance);
        if (onDisk !== undefined) uses.set(id, onDisk);
      } catch (error) {
        logger.debug('An instance could not be measured.', { instance: id, error });
      } finally {
        loan.release();
      }
      await nextTurn();
    }
    return uses;
  }

  async #readOthers(): Promise<ReadonlyMap<string, DiskUse>> {
    const { control, clock } = this.#options;
    const atMs = clock.monotonic();
    if (this.#others === undefined || atMs - this.#others.atMs > usesMs)
      this.#others = { atMs, uses: await readDiskUse(control) };
    return this.#others.uses;
  }
}

function aboveTheirShare(
  uses: ReadonlyMap<string, DiskUse>,
  { holds, reserveBytes }: DiskState,
  count: number,
): ReadonlySet<string> {
  const bytes = [...uses].map(([id, { data, files }]) => {
    if (holds === 'all') return [id, data + files] as const;
    return [id, holds === 'data' ? data : files] as const;
  });
  const used = bytes.reduce((sum, [, one]) => sum + one, 0);
  const share = Math.max(used, reserveBytes) / count;
  return new Set(bytes.filter(([, one]) => one > share).map(([id]) => id));
}

function aboveShare(): AppError {
  const message = 'The disk is nearly full, and the instance uses more than its share of it.';
  return new AppError('quota_full', message, {
    details: { disk: { code: 'disk_share_exceeded', message } },
    retryAfter: retrySeconds,
  });
}
