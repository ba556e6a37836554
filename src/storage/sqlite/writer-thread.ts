import { setImmediate as nextTurn } from 'node:timers/promises';
import { availableParallelism } from 'node:os';
import { busy } from '../../base/errors.ts';
import { FairQueue } from '../../base/fair-queue.ts';
import type { Sql } from '../../sql/sql.ts';
import type { Row, SearchOptions, Tuple } from '../database.ts';
import { EngineFailure } from '../engine-errors.ts';
import { AnsweringThread } from './answering-thread.ts';
import { type ThreadFailure, toError } from './thread-failure.ts';
import type { Synchronous } from './sqlite-connection.ts';
import type { SqliteWriter } from './sqlite-transaction.ts';

/** A file as a thread opens it to write. */
export interface WrittenFile {
  readonly path: string;
  /** The number of the file in its file system: the thread opens no other that has taken its path. */
  readonly inode: string | undefined;
  readonly synchronous: Synchronous;
  readonly queryTimeoutMs: number;
}

export type ToWriter =
  | { readonly kind: 'open'; readonly file: WrittenFile }
  | { readonly kind: 'all' | 'get' | 'tuples' | 'run'; readonly statement: Sql }
  | { readonly kind: 'search'; readonly statement: Sql; readonly options: SearchOptions | undefined }
  | { readonly kind: 'insert'; readonly into: Sql; readonly rows: readonly Tuple[] }
  | { readonly kind: 'sync' | 'copy log' | 'close' };

export type FromWriter = { readonly kind: 'done'; readonly result: unknown } | ThreadFailure;

const workerUrl = new URL('./writer-worker.ts', import.meta.url);

/** A connection in another thread, for the statements of one work that takes long. */
export class WriterThread implements SqliteWriter {
  readonly #thread: AnsweringThread<ToWriter, FromWriter>;
  #pending = 0;
  #isCommitting = false;
  /** Called when the thread has nothing to do any more, and at the end of each pause. */
  onIdle: (() => void) | undefined;

  constructor(url = workerUrl) {
    this.#thread = new AnsweringThread(url, 'writer');
  }

  get isIdle(): boolean {
    return this.#pending === 0;
  }

  open(file: WrittenFile): Promise<void> {
    return this.#request({ kind: 'open', file });
  }

  all(statement: Sql): Promise<Row[]> {
    return this.#request({ kind: 'all', statement });
  }

  get(statement: Sql): Promise<Row | undefined> {
    return this.#request({ kind: 'get', statement });
  }

  tuples(statement: Sql): Promise<Tuple[]> {
    return this.#request({ kind: 'tuples', statement });
  }

  search(statement: Sql, options?: SearchOptions): Promise<Tuple[]> {
    return this.#request({ kind: 'search', statement, options });
  }

  run(statement: Sql): Promise<number> {
    return this.#request({ kind: 'run', statement });
  }

  insertRows(into: Sql, rows: readonly Tuple[]): Promise<void> {
    return this.#request({ kind: 'insert', into, rows });
  }

  /** As `run`. If the thread dies, it is unknown whether the commit was kept. */
  async commit(statement: Sql): Promise<void> {
    this.#isCommitting = true;
    await this.run(statement);
    this.#isCommitting = false;
  }

  async pause(): Promise<void> {
    this.#pending += 1;
    await nextTurn();
    this.#note();
  }

  syncLog(): Promise<void> {
    return this.#request({ kind: 'sync' });
  }

  copyLongLog(): Promise<void> {
    return this.#request({ kind: 'copy log' });
  }

  /** Closes the file, which rolls back what was not committed, and ends the thread. */
  async stop(): Promise<void> {
    // With a thread that has died its file was closed.
    if (this.#thread.endError === undefined) await this.#request({ kind: 'close' }).catch(() => undefined);
    await this.#thread.stop();
  }

  async #request<Result>(question: ToWriter): Promise<Result> {
    this.#pending += 1;
    try {
      const answer = await this.#thread.request(question);
      // The thread answers each kind of question with the result of the method of the same name.
      if (answer.kind === 'done') return answer.result as Result;
      throw toError(answer);
    } catch (error) {
      if (error !== this.#thread.endError) throw error;
      throw new EngineFailure(error, { isCertain: !this.#isCommitting });
    } finally {
      this.#note();
    }
  }

  #note(): void {
    this.#pending -= 1;
    if (this.#pending === 0) this.onIdle?.();
  }
}

/** More would take processors from what the main thread does for everybody. */
const threadsMax = 4;

/** Lends threads to works that take long. Instances take turns; a waiting work delays no other work of its instance. */
export class WriterThreads {
  readonly #turns = new FairQueue({
    runningMax: Math.min(threadsMax, Math.max(1, availableParallelism() - 1)),
    runningOfInstanceMax: 1,
    waitingMax: 1_000,
    waitingOfInstanceMax: 100,
    waitingOfAddressMax: 100,
  });
  readonly #startThread: () => WriterThread;

  constructor(startThread = () => new WriterThread()) {
    this.#startThread = startThread;
  }

  /** Runs a work with a thread that has opened the file. Rejects with Busy when too many wait, or when `signal` is aborted before its turn. */
  lend<Result>(
    file: WrittenFile,
    signal: AbortSignal,
    work: (thread: WriterThread) => Promise<Result>,
  ): Promise<Result> {
    const run = async (): Promise<Result> => {
      const thread = this.#startThread();
      try {
        await thread.open(file);
        return await work(thread);
      } finally {
        await thread.stop();
      }
    };
    // Each instance has one file.
    return this.#turns.run({ instance: file.path, address: '', signal }, run) ?? Promise.reject(busy());
  }

  async stop(): Promise<void> {
    await this.#turns.whenIdle();
  }
}
