import { availableParallelism } from 'node:os';
import { systemClock } from '../../base/clock.ts';
import { Histogram, secondsBounds } from '../../base/histogram.ts';
import { busy, stopping } from '../../base/errors.ts';
import type { Sql } from '../../sql/sql.ts';
import type { Tuple } from '../database.ts';
import { QueryTimeout } from '../engine-errors.ts';
import type { PoolCounts } from '../storage-counts.ts';
import { type ReaderFile, type ReaderSearch, ReaderThread } from './reader-thread.ts';
import { inodeOf } from './sqlite-connection.ts';

/**
 * Threads for slow searches, so that they keep the main thread from nothing (decision 22). Each search begins on the main thread, where
 * what an index answers also ends. One that has not ended within its budget is run again in a thread, with what is left of its time.
 * When all threads are at work searches wait, and the files take turns: a file with many of them delays its own.
 */

/** More would take memory, and processors from what the main thread does for everybody. */
const threadsMax = 4;

/** More slow searches of one file would hardly begin within their time. */
const waitingSearchesMax = 200;

/** How long a search may take on the main thread. */
const budgetMsMax = 4;

/** The budget of a search when others have used it up in the same turn of the event loop: much more than an index needs. */
const budgetMsMin = 0.25;

/**
 * A log that is being read cannot restart, and threads whose reads overlap would let it grow without end. Beyond this size
 * the searches of a file run one after the other, and the log is copied in between. SQLite itself cuts it to half of that.
 */
const logBytesMax = 128 * 1024 * 1024;

/** What the pool has to know of a file and its log. */
export interface FileLog {
  /** How large the log is. */
  readonly bytes: () => number;
  /** Copies the log into the file as far as possible, so that the next write can begin it anew. Called when no thread reads. */
  readonly copy: () => void;
}

/** A file whose searches the pool runs. */
export interface PooledFile {
  readonly source: ReaderFile;
  readonly log: FileLog;
}

export interface PooledSearch extends Pick<ReaderSearch, 'described'> {
  readonly statement: Sql;
  readonly timeoutMs: number;
  /** How much of the timeout has passed before. */
  readonly spentMs: number;
  readonly bytesMax?: number | undefined;
}

/** What a search has found, and whether it would have been over within the budget of the main thread. */
export interface PooledResult {
  readonly rows: Tuple[];
  readonly isSlow: boolean;
}

interface QueuedSearch extends PooledSearch {
  readonly sinceMs: number;
  /** When the timeout passes. */
  readonly dueMs: number;
  readonly resolve: (result: PooledResult) => void;
  readonly reject: (error: unknown) => void;
  readonly timer: NodeJS.Timeout;
}

type Thread = Pick<ReaderThread, 'hasEnded' | 'search' | 'close' | 'stop'>;

export interface ReaderPoolOptions {
  /** What metrics call it. */
  readonly name?: PoolCounts['name'];
  readonly threads?: number;
  /** How many of the threads one file may have at once; by default all. */
  readonly threadsOfFile?: number;
  readonly startThread?: () => Thread;
}

export class ReaderPool {
  /** The searches that wait for a thread, and the threads that search. */
  readonly counts: PoolCounts;
  readonly #threadsMax: number;
  readonly #threadsOfFileMax: number;
  readonly #startThread: () => Thread;
  /** Every thread, with the file that it searches now. */
  readonly #threads = new Map<Thread, PooledFile | undefined>();
  readonly #files = new Set<PooledFile>();
  #filesOpened = 0;
  /** The files with waiting searches, in the order of their turns. */
  readonly #turns = new Map<PooledFile, QueuedSearch[]>();
  #isStopped = false;
  /** How long searches that had to be ended have held up this turn of the event loop. */
  #wastedMs = 0;

  constructor(options: ReaderPoolOptions = {}) {
    this.counts = {
      name: options.name ?? 'readers',
      waitSeconds: new Histogram(secondsBounds),
      waiting: () => this.#turns.values().reduce((sum, { length }) => sum + length, 0),
      inUse: () => this.#threads.values().reduce((sum, file) => sum + (file === undefined ? 0 : 1), 0),
    };
    this.#threadsMax = options.threads ?? Math.min(threadsMax, Math.max(1, availableParallelism() - 1));
    this.#threadsOfFileMax = options.threadsOfFile ?? this.#threadsMax;
    this.#startThread = options.startThread ?? (() => new ReaderThread());
  }

  /** How long the next search may take on the main thread. */
  get budgetMs(): number {
    return Math.max(budgetMsMin, budgetMsMax - this.#wastedMs);
  }

  /** Notes a search that has used up its budget without a result. */
  waste(tookMs: number): void {
    if (this.#wastedMs === 0) setImmediate(() => (this.#wastedMs = 0));
    this.#wastedMs += tookMs;
  }

  open(path: string, log: FileLog): PooledFile {
    this.#filesOpened += 1;
    const file = { source: { number: this.#filesOpened, path, inode: inodeOf(path) }, log };
    this.#files.add(file);
    return file;
  }

  /** Runs a search in a thread. Rejects with a QueryTimeout when it is not over in time, or too many wait. */
  search(file: PooledFile, search: PooledSearch): Promise<PooledResult> {
    if (!this.#files.has(file)) return Promise.reject(busy());
    const waiting = this.#turns.get(file) ?? [];
    if (waiting.length >= waitingSearchesMax) return Promise.reject(new QueryTimeout());
    return new Promise((resolve, reject) => {
      const leftMs = Math.max(0, search.timeoutMs - search.spentMs);
      const timer = setTimeout(() => {
        this.#drop(file, entry);
        reject(new QueryTimeout());
      }, leftMs);
      const sinceMs = systemClock.monotonic();
      const entry = { ...search, sinceMs, dueMs: sinceMs + leftMs, resolve, reject, timer };
      waiting.push(entry);
      this.#turns.set(file, waiting);
      this.#begin();
    });
  }

  /** Ends the searches of a file, and closes it in all threads. */
  async close(file: PooledFile): Promise<void> {
    this.#files.delete(file);
    this.#refuse(file, busy());
    await Promise.all(
      [...this.#threads].map(([thread, searched]) =>
        searched === file ? thread.stop() : thread.close(file.source.number),
      ),
    );
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#files.clear();
    for (const file of this.#turns.keys()) this.#refuse(file, stopping());
    await Promise.all([...this.#threads.keys()].map((thread) => thread.stop()));
  }

  /** Begins as many of the waiting searches as there are threads for. */
  #begin(): void {
    while (this.#turns.size > 0) {
      const thread = this.#freeThread();
      const file = thread && this.#nextFile();
      if (thread === undefined || file === undefined) return;
      const waiting = this.#turns.get(file) ?? [];
      // Behind all others.
      this.#turns.delete(file);
      const search = waiting.shift();
      if (waiting.length > 0) this.#turns.set(file, waiting);
      if (search !== undefined) void this.#run(thread, file, search);
    }
  }

  #freeThread(): Thread | undefined {
    for (const [thread, searched] of this.#threads)
      if (thread.hasEnded) this.#threads.delete(thread);
      else if (searched === undefined) return thread;
    if (this.#isStopped || this.#threads.size >= this.#threadsMax) return undefined;
    const thread = this.#startThread();
    this.#threads.set(thread, undefined);
    return thread;
  }

  #nextFile(): PooledFile | undefined {
    for (const file of this.#turns.keys()) {
      if (this.#threadsOf(file) >= this.#threadsOfFileMax) continue;
      if (file.log.bytes() <= logBytesMax) return file;
      if ([...this.#threads.values()].includes(file)) continue;
      file.log.copy();
      return file;
    }
    return undefined;
  }

  #threadsOf(file: PooledFile): number {
    return this.#threads.values().reduce((sum, searched) => sum + (searched === file ? 1 : 0), 0);
  }

  async #run(thread: Thread, file: PooledFile, search: QueuedSearch): Promise<void> {
    const { statement, timeoutMs, bytesMax, described, sinceMs, dueMs, timer, resolve, reject } = search;
    clearTimeout(timer);
    this.#threads.set(thread, file);
    const nowMs = systemClock.monotonic();
    this.counts.waitSeconds.noteMs(nowMs - sinceMs);
    const spentMs = timeoutMs - (dueMs - nowMs);
    try {
      const { rows, tookMs } = await thread.search({
        file: file.source,
        statement,
        timeoutMs,
        spentMs,
        bytesMax,
        described,
      });
      resolve({ rows, isSlow: tookMs > budgetMsMax });
    } catch (error) {
      reject(error);
    }
    this.#threads.set(thread, undefined);
    this.#begin();
  }

  #drop(file: PooledFile, search: QueuedSearch): void {
    const waiting = this.#turns.get(file)?.filter((one) => one !== search) ?? [];
    if (waiting.length > 0) this.#turns.set(file, waiting);
    else this.#turns.delete(file);
  }

  #refuse(file: PooledFile, error: unknown): void {
    for (const { timer, reject } of this.#turns.get(file) ?? []) {
      clearTimeout(timer);
      reject(error);
    }
    this.#turns.delete(file);
  }
}
