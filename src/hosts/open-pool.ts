import { ForwardClock, systemClock } from '../base/clock.ts';
import { openFilesMax } from '../base/process.ts';
import type { Logger } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import { Scheduler } from '../dispatch/scheduler.ts';
import { announceCommits, watchCommits } from '../instances/commit-announcements.ts';
import { DueIndex, type DueTimes } from '../instances/due-index.ts';
import { DueWork } from '../instances/due-work.ts';
import type { Exposition } from '../logs/metrics.ts';
import type { DataDirectory } from '../open-data-directory.ts';
import { dueIfUnknown } from '../start-due-work.ts';
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

/** The longest delay of the timer; a later time is looked at again when it ends. */
const timerMsMax = 60_000;

/**
 * Starts threads that run the instances. `data` stays open here for the directory of instances and the state of the disk; what is written by
 * it is written as by a command.
 */
export async function openPool({ data, ...options }: PoolOptions): Promise<RunningHosts> {
  const { config, logger } = options;
  const pool = new HostPool({
    ...options,
    threads: config.hostThreads,
    memoryBytes: config.answerMemoryBytes,
    slotsMax: Math.min(config.webhookSlots, Math.floor(openFilesMax() / 4)),
    onClosed: (id, times) => due.noteClosed(id, times),
  });
  const due = new PoolWork(pool, data, logger);
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
      watch = await watchCommits(
        data.home.control,
        (id) => pool.wake(id),
        (error) => logger.error('Reading the announcements of commands failed; retrying.', { error }),
      );
      await due.start();
    },
    stopSending: async () => {
      await due.stop();
      await pool.stopSending();
    },
    stop: async () => {
      await watch?.stop();
      await announcements.stop();
      await pool.stop();
    },
  };
}

/** Wakes instances of a pool that are not open when something is due in them. */
class PoolWork {
  readonly #pool: HostPool;
  readonly #clock = new ForwardClock(systemClock);
  readonly #scheduler = new Scheduler(this.#clock);
  readonly #work: DueWork;
  #timer: NodeJS.Timeout | undefined;

  constructor(pool: HostPool, { home, directory }: DataDirectory, logger: Logger) {
    this.#pool = pool;
    this.#work = new DueWork({
      index: new DueIndex({ control: home.control, isServer: true, logger }),
      directory,
      instances: {
        isOpen: (id) => pool.isPlaced(id),
        hasFreePlace: true,
        borrow: async (entry) => {
          await pool.visit(entry);
          return { release: () => undefined };
        },
        // A host closes what is idle.
        closeIdle: () => undefined,
      },
      onWebhooks: (id, due) => this.#noteDue(id, due),
      // Hosts look for changes of definitions themselves.
      onChanged: () => Promise.resolve(),
      onUpkeep: (id) => pool.wake(id),
      clock: this.#clock,
      logger,
    });
  }

  start(): Promise<void> {
    return this.#work.start();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#work.stop();
  }

  /** Notes what is due in an instance that its host has closed. The host knows of its webhooks, unless it ends before they are due. */
  noteClosed(id: string, times: DueTimes): void {
    this.#work.noteClosed(id, times);
    if (times.webhooks !== undefined) this.#noteDue(id, dueIfUnknown(times.webhooks, this.#clock.now()));
  }

  #noteDue(id: string, due: number): void {
    if (due <= this.#clock.now()) this.#pool.wake(id);
    else if (this.#scheduler.noteDue(id, due)) this.#setTimer();
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    const delayMs = this.#scheduler.delayMs();
    if (delayMs === undefined) return;
    this.#timer = setTimeout(() => this.#look(), Math.min(Math.max(delayMs, 0), timerMsMax)).unref();
  }

  #look(): void {
    for (const id of this.#scheduler.takeWoken().keys()) {
      this.#scheduler.clearDue(id);
      this.#pool.wake(id);
    }
    this.#setTimer();
  }
}
