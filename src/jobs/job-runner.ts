import { rm } from 'node:fs/promises';
import { nextRun } from '../base/cron.ts';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import type { Config } from '../config/config.ts';
import type { DataDirectory } from '../open-data-directory.ts';
import { backupName, partialPath } from '../backups/backup-names.ts';
import { undoJob } from './undo-job.ts';
import { holdLost, type JobStore, type TransferJob } from '../backups/job-store.ts';
import type { ScheduleStore } from '../backups/schedule-store.ts';
import { TransferThread } from './transfer-thread.ts';

const pollMs = 500;
/** How many jobs a process runs at once. Each reads an instance as fast as the disk does. */
const runningMax = 2;

export interface JobRunnerOptions {
  readonly jobs: JobStore;
  readonly schedules: ScheduleStore;
  readonly data: Pick<DataDirectory, 'home' | 'directory'>;
  readonly config: Config;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/** Takes up backups and restores that anybody has asked for, and those whose time has come. Of several nodes each takes some. */
export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #holder = newId();
  readonly #thread: TransferThread;
  /** By the ids of jobs. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #poller: Poller;
  #isStopping = false;

  constructor(options: JobRunnerOptions) {
    this.#options = options;
    this.#thread = new TransferThread(options.config);
    this.#poller = new Poller({
      intervalMs: pollMs,
      poll: () => this.#poll(),
      onError: (error) => options.logger.warn('Looking for backups to make failed; retrying.', { error }),
    });
  }

  /** Stops taking up jobs. One that runs is marked as failed, and leaves nothing behind. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#poller.stop();
    await this.#thread.stop();
    await Promise.all(this.#running.values());
  }

  async #poll(): Promise<void> {
    const { jobs } = this.#options;
    if (!(await jobs.hasWork())) return;
    for (const job of await jobs.readAbandoned())
      // The hold on one that runs here is over when the process stood still: the next renewal makes up for that.
      if (!this.#running.has(job.id)) await this.#giveUp(job);
    await this.#addScheduled();
    while (!this.#isStopping && this.#running.size < runningMax) {
      const job = await jobs.claim(this.#holder);
      if (job === undefined) return;
      const run = this.#run(job).finally(() => this.#running.delete(job.id));
      this.#running.set(job.id, run);
    }
  }

  async #run(job: TransferJob): Promise<void> {
    const { jobs, logger } = this.#options;
    const release = jobs.keepHeld(job, () => this.#thread.cancel(job.id, holdLost().message));
    try {
      const { bytes } = await this.#thread.run(job);
      await jobs.end(job, { state: 'done', bytes, message: '' });
    } catch (error) {
      const message = error instanceof AppError ? error.message : 'It failed: see the log of the service.';
      logger.warn('A backup or a restore failed.', { instance: job.instance, kind: job.kind, error });
      await this.#fail(job, message);
    } finally {
      release();
    }
  }

  async #fail(job: TransferJob, message: string): Promise<void> {
    const { jobs, data, config, logger } = this.#options;
    try {
      // Whoever has taken it over has undone it, and another job may be at work.
      if (!(await jobs.renew(job))) return;
      await undoJob(data, job);
      await jobs.end(job, { state: 'failed', bytes: 0, message });
      // Last: where the folder cannot be used, the job is over nevertheless.
      await rm(partialPath(config.backups.folder, job), { force: true });
    } catch (error) {
      // Unless it was ended, its lease ends, and the next look gives it up.
      logger.warn('What a backup or a restore has left could not be undone.', { job: job.id, error });
    }
  }

  async #giveUp(abandoned: TransferJob): Promise<void> {
    const { jobs, logger } = this.#options;
    const job = await jobs.takeOver(abandoned, this.#holder);
    if (job === undefined) return;
    logger.warn('A backup or a restore was cut off.', { job: job.id, instance: job.instance });
    await this.#fail(job, 'The process that ran it has ended.');
  }

  async #addScheduled(): Promise<void> {
    const { jobs, schedules, data, config, clock } = this.#options;
    const now = clock.now();
    for (const { instance, cron, due } of await schedules.readDue(now)) {
      // Whoever moves it on is the one that adds its backups.
      if (!(await schedules.move({ instance, due }, nextRun(cron, now)))) continue;
      const ofAll = data.directory.all().filter(({ state }) => state === 'active');
      const entries = instance === '' ? ofAll : ofAll.filter(({ shownId }) => shownId === instance);
      const place = instance === '' ? (config.backups.schedule?.place ?? '') : '';
      for (const { shownId, slug } of entries) {
        const backup = backupName(slug, now, { isAuto: true });
        await jobs.addUnlessBusy({ instance: shownId, kind: 'backup', backup, place, isAuto: true });
      }
    }
  }
}
