import { availableParallelism } from 'node:os';
import { ForwardClock, systemClock } from '../base/clock.ts';
import { openFilesMax } from '../base/process.ts';
import type { LongTurn } from '../base/turn-meter.ts';
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
import { type HostOptions, type HostParts, type OpenHost, openHost } from './open-host.ts';
import { LongTurnRecord } from './long-turn-record.ts';
import { PlacedHost } from './placed-host.ts';
import type { Placements } from './placements.ts';
import { PoolMetrics } from './pool-metrics.ts';
import type { RunningHosts } from './running-hosts.ts';

export interface PoolOptions extends ThreadParts {
  readonly config: Config;
  readonly data: DataDirectory;
  readonly logger: Logger;
  /** What runs instances in this thread until a second one is used; without it, threads do so from the beginning. */
  readonly own?: OwnHostParts | undefined;
  /** Writes the metrics of the whole process. */
  readonly write: () => Promise<Exposition>;
}

/** Of a host in this thread. */
export interface OwnHostParts {
  readonly parts: HostParts;
  /** Those of `data`. */
  readonly placements: Placements;
  readonly readiness: HostOptions['readiness'];
}

/** The longest delay of the timer; a later time is looked at again when it ends. */
const timerMsMax = 60_000;

/**
 * Starts what runs the instances. `data` stays open here for the directory of instances and the state of the disk; what is written by it is
 * written as by a command once threads run the instances.
 */
export async function openPool({ data, own: ownParts, ...options }: PoolOptions): Promise<RunningHosts> {
  const { config, logger } = options;
  const onClosed = (id: string, times: DueTimes): void => due.noteClosed(id, times);
  const onLongTurn = (turn: LongTurn): void => {
    record.note(turn);
    pool.noteLongTurn(turn);
  };
  const own = ownParts && (await openOwn({ ...options, data, onClosed, onLongTurn }, ownParts));
  let announcements: { stop(): Promise<void> } | undefined;
  const pool = new HostPool({
    ...options,
    threads: threadsOf(config),
    own: own?.host,
    memoryBytes: config.answerMemoryBytes,
    slotsMax: Math.min(config.webhookSlots, Math.floor(openFilesMax() / 4)),
    onClosed,
    onLongTurn,
    // What this thread itself writes, such as the first superuser, is to threads as what a command writes.
    onThreads: () => (announcements = announceCommits(data.home.control, data.wakeUp)),
  });
  const { directory } = data;
  const record = new LongTurnRecord({
    control: data.home.control,
    directory,
    apart: () => pool.isolated,
    logger,
  });
  const due = new PoolWork(pool, data, logger);
  await pool.open();
  const metrics = await PoolMetrics.open(() => pool.metrics());
  let watch: { stop(): Promise<void> } | undefined;
  return {
    host: pool,
    metrics,
    faultOf: (instance) => pool.faultOf(instance),
    start: async () => {
      data.home.reserve?.start();
      await (own?.running ?? frontAlone(data, logger)).start();
      watch = await watchCommits(
        data.home.control,
        (id) => pool.wake(id),
        (error) => logger.error('Reading the announcements of commands failed; retrying.', { error }),
      );
      record.start();
      await due.start();
    },
    stopSending: async () => {
      await due.stop();
      await pool.stopSending();
    },
    stop: async () => {
      await record.stop();
      await watch?.stop();
      await announcements?.stop();
      await pool.stop();
    },
  };
}

type OwnOptions = Pick<HostOptions, 'config' | 'data' | 'logger'> &
  Required<Pick<HostOptions, 'onClosed' | 'onLongTurn'>> & {
    readonly write: HostOptions['metrics']['write'];
  };

/** Opens the host in this thread. */
async function openOwn(
  { onClosed, ...options }: OwnOptions,
  { placements, ...parts }: OwnHostParts,
): Promise<{ readonly running: OpenHost; readonly host: PlacedHost }> {
  const { data, logger } = options;
  const running = await openHost({
    ...options,
    ...parts,
    ownership: placements,
    metrics: options,
    onClosed: (id, times) => {
      // Of one that has left, its next host says so.
      if (placements.owns(id)) onClosed(id, times);
    },
  });
  return { running, host: new PlacedHost({ running, host: running.host, data, logger, placements }) };
}

/** What this thread does with the data where threads run all instances. */
function frontAlone(data: DataDirectory, logger: Logger): Pick<RunningHosts, 'start'> {
  return {
    start: async () => {
      data.directory.watch((error) => logger.error('The list of instances could not be read.', { error }));
      data.instances.startSweeping();
    },
  };
}

/** As many threads as processors: each can work at any time. On one, two still keep half of the instances from waiting for the others. */
function threadsOf({ hostThreads }: Config): number {
  if (hostThreads !== 'auto') return hostThreads;
  return Math.min(Math.max(availableParallelism(), threadsMin), threadsMax);
}

const threadsMin = 2;
const threadsMax = 8;

/** Wakes instances of a pool that are not open when something is due in them. */
class PoolWork {
  readonly #pool: HostPool;
  readonly #clock = new ForwardClock(systemClock);
  readonly #scheduler = new Scheduler(this.#clock);
  readonly #work: DueWork;
  #timer: NodeJS.Timeout | undefined;

  constructor(pool: HostPool, { home, directory }: DataDirectory, logger: Logger) {
    this.#pool = pool;
    directory.onLife((id, isActive) => {
      if (isActive) pool.wake(id);
    });
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
