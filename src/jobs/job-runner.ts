import { mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { nextRun } from '../base/cron.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { AppError, busy, stopping } from '../base/errors.ts';
import { FairQueue } from '../base/fair-queue.ts';
import type { Share } from '../base/fair-line.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import type { Config } from '../config/config.ts';
import type { DataDirectory } from '../open-data-directory.ts';
import { backupName } from '../backups/backup-names.ts';
import { partialPath, removeLeftovers } from '../backups/remove-leftovers.ts';
import { undoJob } from './undo-job.ts';
import { holdLost, type JobStore, type NewTransfer, type TransferJob } from '../backups/job-store.ts';
import type { ScheduleStore } from '../backups/schedule-store.ts';
import type { OwnTransfers, UploadedArchive } from '../operator/own-transfers.ts';
import { TransferThread } from './transfer-thread.ts';

const pollMs = 500;
/** How many jobs a process runs at once. Each reads an instance as fast as the disk does. */
const runningMax = 2;
/** What clients of this process wait for runs beside those jobs, and instances take turns. */
const ownLimits = {
  runningMax: 2,
  waitingMax: 50,
  waitingOfInstanceMax: 10,
  waitingOfAddressMax: 10,
} as const;
/** How many archives a process receives or imports at once: each takes up to 16 GiB of the disk. */
const importsMax = 4;
const sweepMs = 3_600_000;

export interface JobRunnerOptions {
  readonly jobs: JobStore;
  readonly schedules: ScheduleStore;
  readonly data: Pick<DataDirectory, 'home' | 'directory'>;
  readonly config: Config;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/**
 * Takes up backups and restores that anybody has asked for, and those whose time has come. Of several nodes each takes some. What only this
 * process can do for its clients it does apart from those.
 */
export class JobRunner implements OwnTransfers {
  readonly #options: JobRunnerOptions;
  readonly #holder = newId();
  readonly #thread: TransferThread;
  readonly #running = new Set<Promise<void>>();
  /** The ids of all jobs that run here. */
  readonly #jobIds = new Set<string>();
  readonly #own = new FairQueue(ownLimits);
  #poller: Poller | undefined;
  #imports = 0;
  #sweptMs = Number.NEGATIVE_INFINITY;
  #isStopping = false;

  constructor(options: JobRunnerOptions) {
    this.#options = options;
    this.#thread = new TransferThread(options.config);
  }

  /** Begins to take up jobs. */
  start(): void {
    const { logger } = this.#options;
    this.#poller = new Poller({
      intervalMs: pollMs,
      poll: () => this.#poll(),
      onError: (error) => logger.warn('Looking for backups to make failed; retrying.', { error }),
    });
  }

  run(wish: NewTransfer, signal: AbortSignal): Promise<void> {
    return this.#inTurn({ instance: wish.instance, address: '', signal }, async () => {
      const job = await this.#options.jobs.begin(wish, this.#holder);
      const failure = await this.#run(job);
      if (failure !== undefined) throw failure;
    });
  }

  async importArchive(
    archive: Omit<UploadedArchive, 'path'>,
    receive: (path: string) => Promise<void>,
  ): Promise<void> {
    if (this.#imports >= importsMax) throw busy();
    this.#imports += 1;
    const path = partialPath(this.#options.config.backups.folder, { id: newId() });
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await receive(path);
      await this.#inTurn({ instance: '', address: '' }, async () => {
        await this.#thread.importArchive({ ...archive, path });
      });
    } finally {
      await rm(path, { force: true });
      this.#imports -= 1;
    }
  }

  async #inTurn(share: Share, work: () => Promise<void>): Promise<void> {
    const turn = this.#own.run(share, async () => {
      if (this.#isStopping) throw stopping();
      await work();
    });
    if (turn === undefined) throw busy();
    try {
      await turn;
    } catch (error) {
      // The thread ends with the process, whatever it is doing.
      throw this.#isStopping && !(error instanceof AppError) ? stopping() : error;
    }
  }

  /** Stops taking up jobs. One that runs is marked as failed, and leaves nothing behind. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#poller?.stop();
    await this.#thread.stop();
    await Promise.all(this.#running);
  }

  async #poll(): Promise<void> {
    const { jobs } = this.#options;
    await this.#sweep();
    if (!(await jobs.hasWork())) return;
    for (const job of await jobs.readAbandoned())
      // The hold on one that runs here is over when the process stood still: the next renewal makes up for that.
      if (!this.#jobIds.has(job.id)) await this.#giveUp(job);
    await this.#addScheduled();
    while (!this.#isStopping && this.#running.size < runningMax) {
      const job = await jobs.claim(this.#holder);
      if (job === undefined) return;
      const run = this.#run(job).then(() => void this.#running.delete(run));
      this.#running.add(run);
    }
  }

  /** Runs a job, notes how it has ended, and returns what it has failed for. */
  async #run(job: TransferJob): Promise<Error | undefined> {
    const { jobs, logger } = this.#options;
    const release = jobs.keepHeld(job, () => this.#thread.cancel(job.id, holdLost().message));
    this.#jobIds.add(job.id);
    try {
      const { bytes } = await this.#thread.run(job);
      await jobs.end(job, { state: 'done', bytes, message: '' });
      return undefined;
    } catch (error) {
      const message = error instanceof AppError ? error.message : 'It failed: see the log of the service.';
      logger.warn('A backup or restore failed.', { instance: job.instance, kind: job.kind, error });
      await this.#fail(job, message);
      return error instanceof Error ? error : new Error(message, { cause: error });
    } finally {
      this.#jobIds.delete(job.id);
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
      logger.warn('Leftovers of a failed backup or restore could not be removed.', { job: job.id, error });
    }
  }

  async #giveUp(abandoned: TransferJob): Promise<void> {
    const { jobs, logger } = this.#options;
    const job = await jobs.takeOver(abandoned, this.#holder);
    if (job === undefined) return;
    logger.warn('A backup or restore was interrupted.', { job: job.id, instance: job.instance });
    await this.#fail(job, 'The process that ran it has ended.');
  }

  async #sweep(): Promise<void> {
    // The files have the time of the machine.
    const nowMs = systemClock.now();
    if (nowMs < this.#sweptMs + sweepMs) return;
    this.#sweptMs = nowMs;
    await removeLeftovers(this.#options.config.backups.folder, nowMs);
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
