import type { Worker } from 'node:worker_threads';
import { busy } from '../../base/errors.ts';
import { startThread } from '../../base/thread.ts';
import type { Sql } from '../../sql/sql.ts';
import { answerTooLarge, type Tuple } from '../database.ts';
import { EngineFailure, QueryTimeout, toEngineError } from '../engine-errors.ts';

/** A file as threads read it. */
export interface ReaderFile {
  /** Distinguishes it from all other files, and from the same one when it is opened again. */
  readonly number: number;
  readonly path: string;
  /** The number of the file in its file system: threads open no other that has taken its path. */
  readonly inode: string | undefined;
}

/** A statement to run, as for `Reader.search`. */
export interface ReaderSearch {
  readonly file: ReaderFile;
  readonly statement: Sql;
  readonly timeoutMs: number;
  /** How much of the timeout has passed before. */
  readonly spentMs: number;
  /** The most that its rows may take in memory. */
  readonly bytesMax?: number | undefined;
}

export type ToReader =
  | { readonly kind: 'search'; readonly search: ReaderSearch }
  /** Asks for the next rows of the last search. */
  | { readonly kind: 'more' }
  | { readonly kind: 'close'; readonly fileNumber: number };

export type FromReader =
  | {
      readonly kind: 'rows';
      readonly rows: readonly Tuple[];
      readonly isLast: boolean;
      readonly tookMs: number;
    }
  | { readonly kind: 'closed' }
  | ReaderFailure;

/** What a search has found, and how long that took. */
export interface ReaderRows {
  readonly rows: Tuple[];
  readonly tookMs: number;
}

/** What a search has failed with. Errors would lose their class and their codes on the way. */
export type ReaderFailure =
  | { readonly kind: 'late' }
  | { readonly kind: 'too large' }
  | { readonly kind: 'replaced'; readonly path: string }
  | { readonly kind: 'engine'; readonly errcode: number; readonly message: string }
  | { readonly kind: 'other'; readonly message: string };

const workerUrl = new URL('./reader-worker.ts', import.meta.url);

/** A thread that runs searches, one after the other. It keeps the process alive only while it works. */
export class ReaderThread {
  readonly #worker: Worker;
  /** Those who wait for an answer, in the order in which they asked. */
  readonly #waiting: PromiseWithResolvers<FromReader>[] = [];
  #endError: Error | undefined;

  constructor(url = workerUrl) {
    this.#worker = startThread(url, { name: 'reader' });
    this.#worker.unref();
    // Only reader-worker.ts holds the other end.
    this.#worker.on('message', (message: FromReader) => {
      this.#waiting.shift()?.resolve(message);
      if (this.#waiting.length === 0) this.#worker.unref();
    });
    this.#worker.on('error', (cause) => this.#end(new Error('A thread that reads has died.', { cause })));
    this.#worker.on('exit', () => this.#end(new Error('A thread that reads has ended.')));
  }

  get hasEnded(): boolean {
    return this.#endError !== undefined;
  }

  async search(search: ReaderSearch): Promise<ReaderRows> {
    const rows: Tuple[] = [];
    let piece = requireRows(await this.#ask({ kind: 'search', search }));
    rows.push(...piece.rows);
    while (!piece.isLast) {
      // Not all at once: messages that have arrived are received in one turn of the event loop.
      piece = requireRows(await this.#ask({ kind: 'more' }));
      rows.push(...piece.rows);
    }
    return { rows, tookMs: piece.tookMs };
  }

  /** Closes a file, once the search is over that runs now. */
  async close(fileNumber: number): Promise<void> {
    try {
      await this.#ask({ kind: 'close', fileNumber });
    } catch (error) {
      // With the thread its files were closed.
      if (error !== this.#endError) throw error;
    }
  }

  /** Ends the thread, and the search that it runs. */
  async stop(): Promise<void> {
    this.#end(busy());
    await this.#worker.terminate();
  }

  #ask(question: ToReader): Promise<FromReader> {
    if (this.#endError !== undefined) return Promise.reject(this.#endError);
    const answer = Promise.withResolvers<FromReader>();
    this.#waiting.push(answer);
    this.#worker.ref();
    this.#worker.postMessage(question, []);
    return answer.promise;
  }

  #end(error: Error): void {
    this.#endError ??= error;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#endError);
  }
}

/** Throws what a search has failed with. */
function requireRows(answer: FromReader): Extract<FromReader, { kind: 'rows' }> {
  switch (answer.kind) {
    case 'rows':
      return answer;
    case 'late':
      throw new QueryTimeout();
    case 'too large':
      throw answerTooLarge();
    case 'replaced':
      throw new EngineFailure(new Error(`${answer.path} was replaced by another file while it was open.`), {
        isCertain: true,
      });
    case 'engine':
      throw toEngineError(Object.assign(new Error(answer.message), { errcode: answer.errcode }));
    default:
      throw new Error(answer.kind === 'other' ? answer.message : 'A thread that reads gave no answer.');
  }
}
