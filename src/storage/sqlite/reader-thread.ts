import type { Sql } from '../../sql/sql.ts';
import type { Tuple } from '../database.ts';
import type { ViewDraft } from '../view-query.ts';
import { AnsweringThread } from './answering-thread.ts';
import { type ThreadFailure, toError } from './thread-failure.ts';

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
  /** The query of a view to describe, instead of a statement: the only row is a text of JSON. */
  readonly described?: ViewDraft | undefined;
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
  | ThreadFailure;

/** What a search has found, and how long that took. */
export interface ReaderRows {
  readonly rows: Tuple[];
  readonly tookMs: number;
}

const workerUrl = new URL('./reader-worker.ts', import.meta.url);

type Answering = Pick<AnsweringThread<ToReader, FromReader>, 'endError' | 'request' | 'stop'>;

/** A thread that runs searches, one after the other; or a process that does. */
export class ReaderThread {
  readonly #thread: Answering;

  constructor(thread: Answering = new AnsweringThread(workerUrl, 'reader')) {
    this.#thread = thread;
  }

  get hasEnded(): boolean {
    return this.#thread.endError !== undefined;
  }

  async search(search: ReaderSearch): Promise<ReaderRows> {
    const rows: Tuple[] = [];
    let piece = requireRows(await this.#thread.request({ kind: 'search', search }));
    rows.push(...piece.rows);
    while (!piece.isLast) {
      // Not all at once: messages that have arrived are received in one turn of the event loop.
      piece = requireRows(await this.#thread.request({ kind: 'more' }));
      rows.push(...piece.rows);
    }
    return { rows, tookMs: piece.tookMs };
  }

  /** Closes a file, once the search is over that runs now. */
  async close(fileNumber: number): Promise<void> {
    try {
      await this.#thread.request({ kind: 'close', fileNumber });
    } catch (error) {
      // With the thread its files were closed.
      if (error !== this.#thread.endError) throw error;
    }
  }

  /** Ends the thread, and the search that it runs. */
  stop(): Promise<void> {
    return this.#thread.stop();
  }
}

/** Throws the error of a failed search. */
function requireRows(answer: FromReader): Extract<FromReader, { kind: 'rows' }> {
  if (answer.kind === 'rows') return answer;
  throw answer.kind === 'closed' ? new Error('The reader thread gave no answer.') : toError(answer);
}
