import { GenerationCache } from '../../base/cache.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import { sql, type Sql } from '../../sql/sql.ts';
import type { Database, Row, SearchOptions, Transaction, Tuple, WriteOptions } from '../database.ts';
import { asCertain, isMissingName, OutdatedDefinitions } from '../engine-errors.ts';
import type { StatementKind, StorageCounts } from '../storage-counts.ts';
import { type ViewDescription, type ViewDraft, viewTables } from '../view-query.ts';
import { OverBudget } from './deadline.ts';
import type { WalState } from './log-mark.ts';
import type { PooledFile, ReaderPool } from './reader-pool.ts';
import { inodeOf, queryTimeoutMsDefault, SqliteConnection, type Synchronous } from './sqlite-connection.ts';
import { type SqliteDefinitions, SqliteState } from './sqlite-definitions.ts';
import { sqliteNames } from './sqlite-names.ts';
import { SqliteViews, type ViewSearch, viewsOf } from './sqlite-views.ts';
import { WriteQueue } from './write-queue.ts';
import { WriteSearches } from './write-searches.ts';
import type { WriterThreads } from './writer-thread.ts';

export interface SqliteOptions {
  readonly path: string;
  /** `NORMAL` may lose acknowledged writes on power loss: only for data that may be lost, such as request logs. */
  readonly synchronous?: Synchronous;
  readonly queryTimeoutMs?: number;
  /** Ends searches that take too long. */
  readonly clock?: Clock;
  /** How long a group of writes begins works, unless a sync takes longer. */
  readonly groupMs?: number;
  /** For a file whose definitions this process keeps in memory. */
  readonly definitions?: SqliteDefinitions;
  /** For a file that clients search: long searches then run in threads. */
  readonly readers?: ReaderPool;
  /** For a file whose tables may be views, which processes read. */
  readonly viewReaders?: ReaderPool;
  /** For a file whose tables are altered: long changes then run in threads. */
  readonly writers?: WriterThreads;
  /** Where commits and statements are counted; undefined for a file without metrics. */
  readonly counts?: StorageCounts;
  /** Called with the error of a failed read or write. */
  readonly onFailure?: (error: unknown) => void;
  /** Called when the file begins to be closed. */
  readonly onStopped?: () => void;
}

export interface SqliteFile extends Database {
  /** How much is in the write-ahead log; undefined while part of it is not on the disk. Called outside of any work. */
  logState(): WalState | undefined;
  /** Writes something small, and copies the write-ahead log into the file, which may have to grow. Rejects while either fails. */
  probe(): Promise<void>;
  /** Copies the write-ahead log into the file, and frees its disk space as far as no connection reads from it. */
  foldLog(): void;
}

/** Opens one file as a {@link Database}: a writer that groups its commits, and a reader that never sees an open group. */
export function openSqlite(options: SqliteOptions): SqliteFile {
  return new SqliteDatabase(options);
}

/** The size of a generation of the texts of slow searches, in characters. */
const slowTextsLengthMax = 64 * 1024;

/** What changes of so many tables, in a file of so many pages of 4 KiB and a schema of so many characters, do in some milliseconds. */
const quick = { tablesMax: 8, pagesMax: 512, schemaLengthMax: 32 * 1024 } as const;

const BEGIN = sql`BEGIN`;
const COMMIT = sql`COMMIT`;
/** Writes the first page of the file; no program of ours reads the number. */
const PROBE = sql`PRAGMA user_version = 0`;
/** The pages of a file, and the characters of its schema, which is read again after each change of it. */
const SIZES = sql`SELECT (SELECT page_count FROM pragma_page_count()), (SELECT sum(length(sql)) FROM sqlite_schema)`;
/** Checkpoints nothing: only reports the state of the log. */
const LOG_STATE = sql`PRAGMA wal_checkpoint(NOOP)`;

class SqliteDatabase implements SqliteFile {
  readonly engine = 'sqlite';
  readonly names = sqliteNames;
  readonly #options: SqliteOptions;
  readonly #queue: WriteQueue;
  #reader: SqliteConnection;
  /** The file as threads search it. Undefined without such threads, and once it is stopped. */
  #pooled: PooledFile | undefined;
  readonly #views: SqliteViews | undefined;
  /** By the text of a search, whether the last one was slow, although it may have had other values. */
  readonly #slowTexts = new GenerationCache<string, boolean>(slowTextsLengthMax, (_, { length }) => length);
  #isViewing = false;
  /** Whether the view outlives its turn: later commits are not on the disk yet. */
  #isHeld = false;
  /** The number of the file in its file system. */
  #inode: string | undefined;
  /** Works that wait for a thread or have one. */
  readonly #lent = new Set<Promise<unknown>>();
  readonly #stopping = new AbortController();
  readonly #state = new SqliteState();
  readonly #endViewLater = (): void => {
    if (!this.#isHeld) this.#endView();
  };

  constructor(options: SqliteOptions) {
    this.#options = options;
    this.#queue = new WriteQueue({
      open: () => this.#open(false),
      searches: new WriteSearches(
        options.queryTimeoutMs ?? queryTimeoutMsDefault,
        options.clock ?? systemClock,
      ),
      onReopen: () => this.#reopenReader(),
      endView: () => this.#endView(),
      holdView: () => this.#holdView(),
      counts: options.counts,
      onFailure: (error) => this.#noteFailure(error),
      ...(options.groupMs !== undefined && { groupMs: options.groupMs }),
      ...(options.definitions !== undefined && {
        isOutdated: (writer) => options.definitions?.isOutdated(writer) === true,
        refresh: async () => void (await options.definitions?.refresh(this)),
      }),
    });
    this.#reader = this.#openReader();
    this.#inode = inodeOf(options.path);
    this.#pooled = this.#openPooled(options.readers);
    const { viewReaders, queryTimeoutMs = queryTimeoutMsDefault } = options;
    if (viewReaders !== undefined)
      this.#views = new SqliteViews(viewReaders, queryTimeoutMs, () => this.#openPooled(viewReaders));
  }

  all(statement: Sql): Promise<Row[]> {
    return this.#read('read', () => this.#view().all(statement));
  }

  get(statement: Sql): Promise<Row | undefined> {
    return this.#read('read', () => this.#view().get(statement));
  }

  tuples(statement: Sql): Promise<Tuple[]> {
    return this.#read('read', () => this.#view().tuples(statement));
  }

  search(statement: Sql, options: SearchOptions = {}): Promise<Tuple[]> {
    return this.#read('search', () => this.#search(statement, options));
  }

  describeView(draft: ViewDraft): Promise<ViewDescription> {
    return this.#read('search', () => viewsOf(this.#views).describe(draft));
  }

  searchDraft(statement: Sql): Promise<Tuple[]> {
    return this.#read('search', () => this.#searchView(statement, {}));
  }

  state(): object {
    return this.#state.now(this.#view());
  }

  logState(): WalState | undefined {
    if (this.#isHeld) return undefined;
    this.#endView();
    const row = this.#reader.get(LOG_STATE);
    return { pages: Number(row?.['log']), copied: Number(row?.['checkpointed']) };
  }

  write<Result>(work: (tx: Transaction) => Promise<Result>, options: WriteOptions = {}): Promise<Result> {
    const { definitions, writers } = this.#options;
    if (options.isExclusive !== true) return this.#queue.add(work, options);
    const announced = async (tx: Transaction): Promise<Result> => {
      const result = await work(tx);
      await definitions?.announce(tx);
      return result;
    };
    if (writers === undefined || options.alteredTables === undefined)
      return this.#queue.add(announced, options);
    return this.#alter(announced, options, writers);
  }

  /** Runs a work that alters tables in a thread, where that may take long. */
  async #alter<Result>(
    work: (tx: Transaction) => Promise<Result>,
    options: WriteOptions,
    writers: WriterThreads,
  ): Promise<Result> {
    if (!this.#takesLong(options)) return await this.#queue.add(work, options);
    const { path, synchronous = 'FULL', queryTimeoutMs = queryTimeoutMsDefault } = this.#options;
    const file = { path, inode: this.#inode, synchronous, queryTimeoutMs };
    const lent = writers.lend(file, this.#stopping.signal, (thread) =>
      this.#queue.add(work, { ...options, thread }),
    );
    this.#lent.add(lent);
    try {
      return await lent;
    } finally {
      this.#lent.delete(lent);
    }
  }

  #takesLong({ alteredTables = 0 }: WriteOptions): boolean {
    if (alteredTables > quick.tablesMax) return true;
    const [pages = 0, schemaLength = 0] = (this.#view().tuples(SIZES)[0] ?? []).map(Number);
    return pages > quick.pagesMax || schemaLength > quick.schemaLengthMax;
  }

  async probe(): Promise<void> {
    await this.#queue.add((tx) => tx.run(PROBE), { isExclusive: true });
    this.#endView();
    this.#queue.copyLog();
  }

  foldLog(): void {
    if (!this.#isHeld) this.#endView();
    this.#queue.copyLog('foldLog');
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    const pooled = this.#pooled;
    this.#pooled = undefined;
    this.#options.onStopped?.();
    // First: the last connection to be closed folds the log into the file, and these can only read.
    if (pooled !== undefined) await this.#options.readers?.close(pooled);
    await this.#views?.close();
    await Promise.allSettled(this.#lent);
    await this.#queue.drain();
    this.#options.definitions?.end();
    this.#endView();
    this.#reader.close();
    this.#queue.close();
  }

  async #read<Result>(kind: StatementKind, query: () => Result | Promise<Result>): Promise<Result> {
    const { definitions, counts } = this.#options;
    const version = definitions?.version;
    const startMs = systemClock.monotonic();
    try {
      const answer = query();
      // What this thread answers is over: an await would add the turns of others.
      const rows = answer instanceof Promise ? await answer : answer;
      counts?.sqlSeconds[kind].noteMs(systemClock.monotonic() - startMs);
      return rows;
    } catch (thrown) {
      const error = asCertain(thrown);
      this.#noteFailure(error);
      if (definitions === undefined || !isMissingName(error)) throw error;
      // A thread sees a change of this process before it is on the disk, and remembered here.
      await this.#queue.synced;
      await definitions.refresh(this);
      throw definitions.version === version ? error : new OutdatedDefinitions(error);
    }
  }

  #noteFailure(error: unknown): void {
    this.#options.onFailure?.(error);
    // Once the whole log is copied into the file, the next write can restart it without more disk space.
    if (error instanceof AppError && error.code === 'storage_full') setImmediate(() => this.#copyFullLog());
  }

  #copyFullLog(): void {
    try {
      this.#queue.copyLog();
    } catch {
      // The file would have to grow. The probe tries again.
    }
  }

  /** Most searches end within the budget: an index answers them. The others are run again by a thread. */
  #search(statement: Sql, options: SearchOptions): Tuple[] | Promise<Tuple[]> {
    const { readers, queryTimeoutMs = queryTimeoutMsDefault } = this.#options;
    const pooled = this.#pooled;
    // A shorter time is one of which some has passed already.
    const shorterMs = Math.max(0, queryTimeoutMs - (options.timeoutMs ?? queryTimeoutMs));
    const spentMs = (options.spentMs ?? 0) + shorterMs;
    const budget = { ...options, spentMs };
    if (statement.tables.includes(viewTables))
      return this.#searchView(statement, { spentMs, bytesMax: options.bytesMax });
    if (readers === undefined || pooled === undefined) return this.#view().search(statement, budget);
    const { bytesMax } = options;
    if (this.#slowTexts.find(statement.text) === true)
      return this.#searchInThread({ readers, pooled }, statement, { spentMs, bytesMax });
    const startMs = systemClock.monotonic();
    const { budgetMs } = readers;
    try {
      const rows = this.#view().search(statement, { ...budget, budgetMs });
      // A count of all rows, which nothing ends.
      if (systemClock.monotonic() - startMs > budgetMs) this.#slowTexts.add(statement.text, true);
      return rows;
    } catch (error) {
      if (!(error instanceof OverBudget)) throw error;
      const tookMs = systemClock.monotonic() - startMs;
      readers.waste(tookMs);
      this.#slowTexts.add(statement.text, true);
      return this.#searchInThread({ readers, pooled }, statement, { spentMs: spentMs + tookMs, bytesMax });
    }
  }

  async #searchInThread(
    { readers, pooled }: { readonly readers: ReaderPool; readonly pooled: PooledFile },
    statement: Sql,
    { spentMs, bytesMax }: { readonly spentMs: number; readonly bytesMax: number | undefined },
  ): Promise<Tuple[]> {
    const timeoutMs = this.#options.queryTimeoutMs ?? queryTimeoutMsDefault;
    const { rows, isSlow } = await readers.search(pooled, { statement, timeoutMs, spentMs, bytesMax });
    // The next one may be as quick: the main thread may have been held up, or this one have had other values.
    if (!isSlow) this.#slowTexts.add(statement.text, false);
    // The thread may have seen a commit that is not on the disk yet.
    await this.#queue.synced;
    return rows;
  }

  async #searchView(statement: Sql, options: ViewSearch): Promise<Tuple[]> {
    const tuples = await viewsOf(this.#views).search(statement, options);
    // As for a thread.
    await this.#queue.synced;
    return tuples;
  }

  #openPooled(readers: ReaderPool | undefined): PooledFile | undefined {
    return readers?.open(this.#options.path, {
      bytes: () => this.#queue.logBytes,
      copy: () => {
        // A held view ends by itself, and the log is copied when the next search begins.
        if (!this.#isHeld) this.#endView();
        this.#queue.copyLog();
      },
    });
  }

  #open(isReadOnly: boolean): SqliteConnection {
    const { queryTimeoutMs, clock } = this.#options;
    return new SqliteConnection(this.#options.path, {
      isReadOnly,
      synchronous: this.#options.synchronous ?? 'FULL',
      ...(queryTimeoutMs !== undefined && { queryTimeoutMs }),
      ...(clock !== undefined && { clock }),
    });
  }

  /**
   * Begins a read transaction that all reads of one turn of the event loop share: taking and releasing the file's locks costs as much
   * as reading a row. It ends with the turn and when a group of writes is on the disk, so that no read sees an old state.
   */
  #view(): SqliteConnection {
    if (!this.#isViewing) {
      this.#reader.run(BEGIN);
      this.#isViewing = true;
      setImmediate(this.#endViewLater);
    }
    return this.#reader;
  }

  /** Begins a view of the data on the disk, which all reads share until a commit is on the disk, too. */
  #holdView(): void {
    this.#endView();
    this.#state.now(this.#view());
    this.#isHeld = true;
  }

  #endView(): void {
    this.#isHeld = false;
    if (!this.#isViewing) return;
    this.#isViewing = false;
    this.#state.endView();
    try {
      this.#reader.run(COMMIT);
    } catch {
      // A medium that fails ends the transaction by itself. No caller could catch the error here; if it persists, the next read fails.
    }
  }

  /** Closes the writer on failure: the constructor then throws, and there is no object to stop. */
  #openReader(): SqliteConnection {
    try {
      return this.#open(true);
    } catch (error) {
      this.#queue.close();
      throw error;
    }
  }

  /**
   * Opens the new reader before it closes the old one: if that fails, there still is a reader, to be replaced at the next try. Threads
   * read no more until then.
   */
  async #reopenReader(): Promise<void> {
    if (this.#pooled !== undefined) await this.#options.readers?.close(this.#pooled);
    await this.#views?.close();
    const reader = this.#open(true);
    this.#isViewing = false;
    this.#isHeld = false;
    this.#reader.close();
    this.#reader = reader;
    this.#inode = inodeOf(this.#options.path);
    this.#state.forget();
    if (this.#pooled !== undefined) this.#pooled = this.#openPooled(this.#options.readers);
  }
}
