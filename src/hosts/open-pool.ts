import { openFilesMax } from '../base/process.ts';
import type { Logger } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import { announceCommits, watchCommits } from '../instances/commit-announcements.ts';
import type { Exposition } from '../logs/metrics.ts';
import type { DataDirectory } from '../open-data-directory.ts';
import { HostPool, type ThreadParts } from './host-pool.ts';
import { PoolMetrics } from './pool-metrics.ts';
import type { RunningHosts } from './running-hosts.ts';

export interface PoolOptions extends ThreadParts {
  readonly config: Config;
  readonly data: DataDirectory;
  readonly logger: Logger;
  /** Writes the metrics of the whole process. */
  readonly write: () => Promise<Exposition>;
}

/** Starts threads that run the instances. `data` stays open here for the directory of instances and the state of the disk. */
export async function openPool({ data, ...options }: PoolOptions): Promise<RunningHosts> {
  const { config, logger } = options;
  const pool = new HostPool({
    ...options,
    threads: config.hostThreads,
    memoryBytes: config.answerMemoryBytes,
    slotsMax: Math.min(config.webhookSlots, Math.floor(openFilesMax() / 4)),
  });
  await pool.opened();
  const metrics = await PoolMetrics.open(() => pool.metrics());
  // What this thread itself writes, such as the first superuser, is to the hosts as what a command writes.
  const announcements = announceCommits(data.home.control, data.wakeUp);
  let watch: { stop(): Promise<void> } | undefined;
  return {
    host: pool,
    metrics,
    faultOf: (instance) => pool.faultOf(instance),
    start: async () => {
      data.home.reserve?.start();
      data.directory.watch((error) =>
        logger.error('The directory of instances could not be read.', { error }),
      );
      data.instances.startSweeping();
      // An instance that a command has made while this runs.
      watch = await watchCommits(
        data.home.control,
        (id) => pool.place([id]),
        (error) => logger.error('Reading the announcements of commands failed; retrying.', { error }),
      );
      pool.place(data.placedIds());
    },
    stopSending: () => pool.stopSending(),
    stop: async () => {
      await watch?.stop();
      await announcements.stop();
      await pool.stop();
    },
  };
}
