import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import { toTimestamp } from '../base/timestamp.ts';
import { type DiskFolders, DiskSpace, type DiskState } from '../limits/disk-space.ts';
import type { Metric } from '../logs/metric.ts';
import type { Database } from '../storage/database.ts';
import { appendOperatorEvent } from './operator-events.ts';

const lookMs = 2_000;

export interface DiskWatchOptions {
  readonly folders: DiskFolders;
  /** The shared data, in which the operator's programs read of it. */
  readonly control: Database;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/** Tells the operator of disks that are low, once for the whole process. Each thread refuses writes itself (disk-shares.ts). */
export class DiskWatch {
  readonly #options: DiskWatchOptions;
  readonly #space: DiskSpace;
  #poller: Poller | undefined;

  constructor(options: DiskWatchOptions) {
    this.#options = options;
    this.#space = new DiskSpace(options.folders);
  }

  get list(): readonly Metric[] {
    const samples = (read: (state: DiskState) => number) => (): ReturnType<Metric['samples']> =>
      this.#space.states.map((state) => ({ labels: { holds: state.holds }, value: read(state) }));
    return [
      {
        name: 'chancery_disk_free_bytes',
        type: 'gauge',
        help: 'Free space of the disks of the service, by what of instances they hold.',
        samples: samples(({ freeBytes }) => freeBytes),
      },
      {
        name: 'chancery_disk_low',
        type: 'gauge',
        help: 'Whether less is free than --disk-reserve, and instances above their share are refused.',
        samples: samples(({ isLow }) => Number(isLow)),
      },
    ];
  }

  start(): void {
    const { logger } = this.#options;
    const onError = (error: unknown): void => logger.warn('Disk space could not be measured.', { error });
    this.#poller = new Poller({ intervalMs: lookMs, poll: () => this.look(), onError });
    void this.#poller.look();
  }

  async stop(): Promise<void> {
    await this.#poller?.stop();
  }

  async look(): Promise<void> {
    for (const state of await this.#space.look()) await this.#tell(state);
  }

  /** The event of a full disk may find no room: the log has it before. */
  async #tell({ isLow, holds, folder, freeBytes, totalBytes, reserveBytes }: DiskState): Promise<void> {
    const { control, clock, logger } = this.#options;
    const data = { holds, folder, freeBytes, totalBytes, reserveBytes };
    if (isLow)
      logger.warn('The disk is nearly full: writes of instances above their share are rejected.', data);
    else logger.info('The disk has free space again: instances are no longer rejected.', data);
    const event = { kind: isLow ? 'disk.low' : 'disk.recovered', instance: '', data } as const;
    await control.write((tx) => appendOperatorEvent(tx, event, toTimestamp(clock.now())));
  }
}
