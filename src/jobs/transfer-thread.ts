import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { assert } from '../base/assert.ts';
import { AppError, type ErrorCode, type FieldErrors } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { startThread } from '../base/thread.ts';
import type { Config } from '../config/config.ts';
import type { TransferJob } from '../backups/job-store.ts';
import type { UploadedArchive } from '../operator/own-transfers.ts';
import type { TransferResult } from './run-transfer.ts';

/** How long the thread stays when it has nothing to do: it takes tens of megabytes. */
const idleMsDefault = 30_000;
/** How long jobs have to end when the service stops. */
const endMs = 5_000;
const stopText = 'The service was stopped.';

/** What the thread begins with. */
export interface TransferSettings {
  readonly kind: 'transfers';
  readonly config: Config;
}

export type TransferRequest =
  | TransferWork
  /** `message` is what the work fails with. */
  | { readonly id: string; readonly kind: 'cancel'; readonly message: string };

export type TransferWork =
  | { readonly id: string; readonly kind: 'job'; readonly job: TransferJob }
  | { readonly id: string; readonly kind: 'import'; readonly archive: UploadedArchive };

export type TransferAnswer =
  | { readonly id: string; readonly kind: 'done'; readonly result: TransferResult }
  | {
      readonly id: string;
      readonly kind: 'failed';
      /** Undefined for what is no fault of whoever asked. */
      readonly code: ErrorCode | undefined;
      readonly message: string;
      readonly details: FieldErrors;
    };

/**
 * A thread that makes and restores backups, which takes as long as instances are large: it works on the data as a command does beside a
 * server. It is started for the first job, and ends when there are none.
 */
export class TransferThread {
  readonly #config: Config;
  readonly #idleMs: number;
  readonly #waiting = new Map<string, PromiseWithResolvers<TransferResult>>();
  #worker: Worker | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(config: Config, idleMs = idleMsDefault) {
    this.#config = config;
    this.#idleMs = idleMs;
  }

  /** Runs a job. Throws AppError for what is to be told to whoever asked for it. */
  run(job: TransferJob): Promise<TransferResult> {
    return this.#ask({ id: job.id, kind: 'job', job });
  }

  /** Imports an archive. Throws as `run`. */
  importArchive(archive: UploadedArchive): Promise<TransferResult> {
    return this.#ask({ id: newId(), kind: 'import', archive });
  }

  async #ask(request: TransferWork): Promise<TransferResult> {
    clearTimeout(this.#timer);
    this.#worker ??= this.#start();
    const waiting = Promise.withResolvers<TransferResult>();
    this.#waiting.set(request.id, waiting);
    this.#post(request);
    try {
      return await waiting.promise;
    } finally {
      this.#waiting.delete(request.id);
      if (this.#waiting.size === 0)
        this.#timer = setTimeout(() => void this.#terminate(), this.#idleMs).unref();
    }
  }

  /** Ends a job, which then fails and leaves nothing behind. It may have been done a moment before. */
  cancel(id: string, message: string): void {
    this.#post({ kind: 'cancel', id, message });
  }

  /** Ends the thread, after what it was about. What does not end in time is left as a crash would leave it: the next start cleans up. */
  async stop(): Promise<void> {
    const ended = [...this.#waiting.values()].map(({ promise }) => promise);
    for (const id of this.#waiting.keys()) this.cancel(id, stopText);
    await Promise.race([Promise.allSettled(ended), sleep(endMs, undefined, { ref: false })]);
    await this.#terminate();
  }

  async #terminate(): Promise<void> {
    clearTimeout(this.#timer);
    const worker = this.#worker;
    this.#worker = undefined;
    // Not a job that comes meanwhile, for which another thread is started.
    const cutOff = [...this.#waiting.values()];
    await worker?.terminate();
    for (const { reject } of cutOff) reject(new AppError('unavailable', stopText));
  }

  #post(request: TransferRequest): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread has no origin.
    this.#worker?.postMessage(request);
  }

  #start(): Worker {
    const workerData: TransferSettings = { kind: 'transfers', config: this.#config };
    // The code of a host has all that it needs.
    const worker = startThread(new URL('../hosts/host-worker.ts', import.meta.url), {
      workerData,
      name: 'backups',
    });
    // Only run-transfers.ts holds the other end.
    worker.on('message', (answer: TransferAnswer) => this.#receive(answer));
    worker.on('error', (error: Error) => this.#end(worker, error));
    worker.on('exit', () => this.#end(worker, new Error('the thread of backups ended')));
    worker.unref();
    return worker;
  }

  #receive(answer: TransferAnswer): void {
    const waiting = this.#waiting.get(answer.id);
    assert(waiting !== undefined, 'the thread answers what it was asked');
    if (answer.kind === 'done') return waiting.resolve(answer.result);
    const { code, message, details } = answer;
    waiting.reject(code === undefined ? new Error(message) : new AppError(code, message, { details }));
  }

  #end(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#failAll(error);
  }

  #failAll(error: Error): void {
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}
