import type { ChildProcess } from 'node:child_process';
import { busy } from '../../base/errors.ts';
import { startProcess } from '../../base/thread.ts';
import { QueryTimeout } from '../engine-errors.ts';
import { PendingAnswers } from './pending-answers.ts';
import {
  type FromReader,
  type ReaderRows,
  type ReaderSearch,
  ReaderThread,
  type ToReader,
} from './reader-thread.ts';

/** How long a process may be over its time: it looks at the clock itself, and kills itself for nothing. */
const graceMs = 100;

/** A process without work takes 50 MB for nothing. */
const idleMsMax = 30_000;

const workerUrl = new URL('./view-worker.ts', import.meta.url);

/** A process that reads views, one search after the other. It is killed when a search is not over in time, and when it has nothing to do. */
export class ViewProcess {
  readonly #process = new AnsweringProcess(workerUrl);
  readonly #reader = new ReaderThread(this.#process);
  #idle: NodeJS.Timeout | undefined;

  get hasEnded(): boolean {
    return this.#reader.hasEnded;
  }

  async search(search: ReaderSearch): Promise<ReaderRows> {
    clearTimeout(this.#idle);
    // Its start takes none of the search's time.
    await this.#process.started;
    const leftMs = Math.max(0, search.timeoutMs - search.spentMs);
    const timer = setTimeout(() => this.#process.kill(new QueryTimeout()), leftMs + graceMs);
    try {
      return await this.#reader.search(search);
    } finally {
      clearTimeout(timer);
      this.#idle = setTimeout(() => void this.stop(), idleMsMax).unref();
    }
  }

  close(fileNumber: number): Promise<void> {
    return this.#reader.close(fileNumber);
  }

  async stop(): Promise<void> {
    clearTimeout(this.#idle);
    await this.#reader.stop();
  }
}

/** As an AnsweringThread. */
class AnsweringProcess {
  readonly #process: ChildProcess;
  readonly #pending = new PendingAnswers<FromReader>();
  readonly #exited: Promise<void>;
  /** Resolves when it can answer. */
  readonly started: Promise<unknown>;

  constructor(file: URL) {
    const child = startProcess(file);
    this.#process = child;
    // It says so unasked.
    this.started = this.#pending.add(() => undefined);
    // Who waits for the start gets the error; nobody may.
    this.started.catch(() => undefined);
    // Only the process's own file holds the other end.
    child.on('message', (message: FromReader) => {
      this.#pending.settle(message);
      this.#hold();
    });
    child.on('error', (cause) =>
      this.#pending.end(new Error('The process for views has failed.', { cause })),
    );
    this.#exited = new Promise((resolve) => {
      child.on('close', (code, signal) => {
        this.#pending.end(new Error(`The process for views has ended (${signal ?? code}).`));
        resolve();
      });
    });
  }

  get endError(): Error | undefined {
    return this.#pending.endError;
  }

  request(question: ToReader): Promise<FromReader> {
    return this.#pending.add(() => {
      this.#hold();
      this.#process.send(question);
    });
  }

  kill(error: Error): void {
    this.#pending.end(error);
    this.#process.kill('SIGKILL');
  }

  async stop(): Promise<void> {
    this.kill(busy());
    await this.#exited;
  }

  /** It keeps this process alive only while it works. */
  #hold(): void {
    const isIdle = this.#pending.isEmpty;
    if (isIdle) this.#process.unref();
    else this.#process.ref();
    if (isIdle) this.#process.channel?.unref();
    else this.#process.channel?.ref();
  }
}
