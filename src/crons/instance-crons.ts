import { type RuleInput, shareOf } from '../access/rule-input.ts';
import { type AccountRowName, removeExpiredRows } from '../auth/account-rows.ts';
import type { InstanceBackups } from '../backups/instance-backups.ts';
import type { JobHold } from '../backups/job-lease.ts';
import type { Clock } from '../base/clock.ts';
import { lastRun } from '../base/cron.ts';
import { AppError, busy } from '../base/errors.ts';
import { FairQueue, type QueueLimits } from '../base/fair-queue.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import type { Janitor } from '../dispatch/janitor.ts';
import type { FileSweeper } from '../files/file-sweeper.ts';
import type { Instance } from '../instances/instance.ts';
import type { CronRuns } from './cron-runs.ts';

/** A job of an instance that runs on a schedule, in UTC. */
export interface CronView {
  readonly id: string;
  readonly expression: string;
}

interface CronJob extends CronView {
  /** Whether it runs here when its time has come; others run where they are due. */
  readonly isScheduled: boolean;
  readonly run: (instance: Instance, signal: AbortSignal) => Promise<void>;
}

const pollMs = 30_000;
/** Runs that superusers have asked for, in this process. */
const runLimits: QueueLimits = {
  runningMax: 2,
  waitingMax: 200,
  waitingOfInstanceMax: 5,
  waitingOfAddressMax: 20,
};

export interface InstanceCronsOptions {
  readonly runs: CronRuns;
  readonly backups: InstanceBackups;
  readonly fileSweeper: Pick<FileSweeper, 'sweepInstance'>;
  /** Undefined where this process delivers nothing. */
  readonly janitor?: Pick<Janitor, 'tidyInstance'>;
  /** The instances that are open here. */
  readonly openIds: () => readonly string[];
  readonly borrowOpen: (instanceId: string) => { readonly instance: Instance; release(): void } | undefined;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly queueLimits?: QueueLimits;
}

/**
 * The scheduled jobs of instances. While an instance is open, the last slot of each schedule is claimed and run by one process (CronRuns); an
 * instance that was closed at that time catches up on the last one when it is opened. Superusers may run a job beside its schedule.
 */
export class InstanceCrons {
  readonly #options: InstanceCronsOptions;
  readonly #jobs: readonly CronJob[];
  readonly #queue: FairQueue;
  readonly #ended = new AbortController();
  /** The slots that are done, by the ids of instances that are open, and jobs. */
  #done: ReadonlyMap<string, Map<string, number>> = new Map();
  /** Runs beside the schedules. */
  readonly #running = new Set<Promise<void>>();
  #poller: Poller | undefined;

  constructor(options: InstanceCronsOptions) {
    this.#options = options;
    this.#jobs = jobsOf(options);
    this.#queue = new FairQueue(options.queueLimits ?? runLimits);
  }

  /** Returns the jobs of an instance, those of the reference last. */
  list({ settings }: Instance): readonly CronView[] {
    const jobs = this.#jobs.map(({ id, expression }) => ({ id, expression }));
    const { cron } = settings.current.backups;
    return cron === '' ? jobs : [...jobs, { id: backupId, expression: cron }];
  }

  /** Begins to run a job. Throws not_found, bad_request while it runs, and unavailable when too many wait in this process. */
  async run(instance: Instance, input: Pick<RuleInput, 'origin'>, id: string): Promise<void> {
    const { backups, runs } = this.#options;
    if (id === backupId && instance.settings.current.backups.cron !== '') return backups.begin(instance);
    const job = this.#jobs.find((one) => one.id === id);
    if (job === undefined) throw new AppError('not_found', 'Missing or invalid cron job.');
    // Lent again, as the request is answered before the job has ended.
    const loan = this.#options.borrowOpen(instance.id);
    if (loan === undefined) throw busy();
    const hold = await runs.claimNow(instance.shownId, id).catch((error: unknown) => {
      loan.release();
      throw error;
    });
    if (hold === undefined) {
      loan.release();
      throw new AppError('bad_request', 'Try again later - the cron job is already running.');
    }
    const run = this.#keep(hold, { instance: loan.instance, job });
    const { signal } = this.#ended;
    const { address } = shareOf(instance.id, input);
    const work = this.#queue.run({ instance: instance.id, address, signal }, () => run.work());
    const ended = run.end(work).finally(() => {
      loan.release();
      this.#running.delete(ended);
    });
    this.#running.add(ended);
    if (work === undefined) throw busy();
  }

  /** Begins to run jobs when their time has come. */
  start(): void {
    const { logger } = this.#options;
    const onError = (error: unknown): void =>
      logger.warn('Looking for scheduled jobs failed; retrying.', { error });
    this.#poller = new Poller({ intervalMs: pollMs, poll: () => this.look(), onError });
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#poller?.stop();
    await Promise.all(this.#running);
  }

  /** Runs what is due in the instances that are open here. */
  async look(): Promise<void> {
    const { openIds, clock } = this.#options;
    const ids = openIds();
    const before = this.#done;
    this.#done = new Map(ids.map((id) => [id, before.get(id) ?? new Map<string, number>()]));
    for (const job of this.#jobs) {
      const slot = job.isScheduled ? lastRun(job.expression, clock.now()) : undefined;
      if (slot === undefined) continue;
      for (const [id, slots] of this.#done) {
        if (this.#ended.signal.aborted) return;
        if (slots.get(job.id) === slot) continue;
        slots.set(job.id, slot);
        await this.#runSlot(id, job, slot);
      }
    }
  }

  async #runSlot(id: string, job: CronJob, slot: number): Promise<void> {
    const loan = this.#options.borrowOpen(id);
    if (loan === undefined) return;
    try {
      const { instance } = loan;
      const hold = await this.#options.runs.claimSlot(instance.shownId, job.id, slot);
      if (hold === undefined) return;
      const run = this.#keep(hold, { instance, job });
      await run.end(run.work());
    } finally {
      loan.release();
    }
  }

  /** Keeps a job held until `end` resolves, after its work. A failure is logged: the next slot tries again. */
  #keep(hold: JobHold, { instance, job }: { readonly instance: Instance; readonly job: CronJob }): KeptRun {
    const { runs, logger } = this.#options;
    const lost = new AbortController();
    const release = runs.keepHeld(hold, () => lost.abort());
    const signal = AbortSignal.any([this.#ended.signal, lost.signal]);
    return {
      work: () => job.run(instance, signal),
      end: async (work) => {
        try {
          await work;
        } catch (error) {
          logger.warn('A scheduled job failed.', { instance: instance.id, cron: job.id, error });
        }
        release();
        // Where this fails, the hold ends with its lease.
        await runs.end(hold).catch((error: unknown) => {
          logger.warn('The end of a scheduled job could not be stored.', { instance: instance.id, error });
        });
      },
    };
  }
}

interface KeptRun {
  readonly work: () => Promise<void>;
  /** Waits for the work, and ends the hold. Never rejects. */
  readonly end: (work: Promise<void> | undefined) => Promise<void>;
}

const backupId = '__pbAutoBackup__';

function jobsOf({ fileSweeper, janitor }: InstanceCronsOptions): readonly CronJob[] {
  const expired =
    (name: AccountRowName): CronJob['run'] =>
    (instance, signal) =>
      removeExpiredRows(instance, name, signal);
  const webhooks: readonly CronJob[] =
    janitor === undefined
      ? []
      : [
          {
            id: 'webhookLogCleanup',
            expression: '0 * * * *',
            isScheduled: false,
            run: ({ id }) => janitor.tidyInstance(id),
          },
        ];
  return [
    {
      id: 'fileCleanup',
      expression: '*/10 * * * *',
      isScheduled: false,
      run: ({ id }, signal) => fileSweeper.sweepInstance(id, signal),
    },
    ...webhooks,
    { id: '__pbMFACleanup__', expression: '0 * * * *', isScheduled: true, run: expired('_mfas') },
    { id: '__pbOTPCleanup__', expression: '0 * * * *', isScheduled: true, run: expired('_otps') },
    {
      id: '__pbLogsCleanup__',
      expression: '0 */6 * * *',
      isScheduled: true,
      run: ({ logs }) => logs.trim(),
    },
  ];
}
