import { accessSync, closeSync, constants, fdatasync, fdatasyncSync, openSync, statSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { assert } from '../../base/assert.ts';
import { GenerationCache } from '../../base/cache.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { codeOf } from '../../base/process.ts';
import { foldFunction, likeFunction, realTextFunction, sql, type Sql } from '../../sql/sql.ts';
import { answerBytesMax, answerTooLarge, bytesOfTuple, type Row, type Tuple } from '../database.ts';
import { EngineFailure, isBusy, isFailedWrite, toEngineError } from '../engine-errors.ts';
import { viewTables } from '../view-query.ts';
import { Deadline, type SearchBudget } from './deadline.ts';
import { jsonNumber } from './sqlite-names.ts';

/**
 * The size of a generation of prepared statements, in characters of SQL: the memory that SQLite takes for one grows with its columns
 * and conditions, to hundreds of kilobytes, and guests choose their queries. `statementLength` is added for each, as even a short one
 * takes memory.
 */
const statementsLengthMax = 256 * 1024;
const statementLength = 512;

export const queryTimeoutMsDefault = 1_000;
const BUSY_TIMEOUT_MS = 5_000;
/** Two are usually enough: after a failure the other process is waited for. More are needed only if that one gives up. */
const writeAheadTriesMax = 10;

/** Without a limit, one large transaction would leave the write-ahead log at its size for ever. */
const JOURNAL_SIZE_LIMIT_BYTES = 64 * 1024 * 1024;

/** The pages of 4 KiB in the log after which they are copied into the file; of a page that was written often, only the last version is. */
const checkpointPages = 4_000;

/** The page cache of a reader; pages that do not fit are read from the operating system each time. */
const READER_CACHE_KIB = 16 * 1024;

/** SQLite's memory in all connections of the process: beyond it, a connection evicts a page of its own for each new one. */
const heapBytesMax = 128 * 1024 * 1024;

/** One connection to one file: sets pragmas, keeps prepared statements, translates errors. */
export class SqliteConnection {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #log: LogSync;
  /** Whether a commit is on the disk only after {@link syncLog}; otherwise it gets there in time, or is lost with the machine. */
  readonly isFullySynced: boolean;
  readonly #deadline: Deadline;
  #readsViews = false;
  readonly #rowStatements = statementCache();
  readonly #tupleStatements = statementCache();

  constructor(path: string, options: ConnectionOptions) {
    this.#path = path;
    const { queryTimeoutMs = queryTimeoutMsDefault, clock = systemClock } = options;
    this.#deadline = new Deadline(queryTimeoutMs, clock);
    this.isFullySynced = options.synchronous === 'FULL';
    this.#log = new LogSync(path);
    try {
      this.#database = open(path, options);
      this.#database.function(jsonNumber, { deterministic: true, directOnly: true }, (number) =>
        JSON.stringify(number),
      );
      for (const { name, call } of [realTextFunction, foldFunction])
        this.#database.function(name, { deterministic: true, directOnly: true }, call);
      // Called deterministic, or SQLite would not call it for the rows of which it makes an index of its own to join by.
      const inTime = { varargs: true, deterministic: true, directOnly: true };
      this.#database.function('$in_time', inTime, () => this.#deadline.check());
      this.#database.function(likeFunction.name, { directOnly: true }, (text, pattern) => {
        this.#deadline.check();
        return likeFunction.call(text, pattern);
      });
    } catch (error) {
      throw toEngineError(error);
    }
  }

  /** From now on asks what each statement may read, and fails one that needs more memory. For connections that run clients' queries. */
  guard(authorizer: Parameters<DatabaseSync['setAuthorizer']>[0], heapBytesMax: number): void {
    this.#database.setAuthorizer(null);
    this.#database.exec(`PRAGMA hard_heap_limit = ${heapBytesMax}`);
    this.#database.setAuthorizer(authorizer);
    this.#readsViews = true;
  }

  get isInTransaction(): boolean {
    return this.#database.isTransaction;
  }

  all(statement: Sql): Row[] {
    try {
      return this.#prepare(statement).all(...statement.values);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  get(statement: Sql): Row | undefined {
    try {
      return this.#prepare(statement).get(...statement.values);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  tuples(statement: Sql): Tuple[] {
    try {
      // The mode set below makes rows arrays; the types of node:sqlite do not follow it.
      return this.#prepareTuples(statement).all(...statement.values) as unknown as Tuple[];
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** As `tuples`, but steps row by row, to stop when the rows get too large. That is slower. Throws QueryTimeout, OverBudget. */
  search(statement: Sql, time: SearchBudget = {}): Tuple[] {
    try {
      const prepared = this.#prepareTuples(statement);
      this.#deadline.reset(time);
      const iterator = prepared.iterate(...statement.values);
      try {
        return takeAll(iterator, time.bytesMax);
      } catch (error) {
        // Resets the statement, which would otherwise keep its read transaction open.
        iterator.return?.();
        throw error;
      }
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** Reads row by row. The caller reads to the end, or ends the iteration. */
  *scan(statement: Sql): Generator<Tuple> {
    try {
      const rows = this.#prepareTuples(statement).iterate(...statement.values);
      // The statement returns rows as arrays.
      for (const row of rows) yield row as unknown as Tuple;
    } catch (error) {
      throw this.#failure(error);
    }
  }

  run(statement: Sql): number {
    try {
      const prepared = this.#prepare(statement);
      if (statement.form?.kind !== 'insert') return Number(prepared.run(...statement.values).changes);
      // An insert changes one row, so `get` will do: the result object of `run` costs as much as binding three values.
      prepared.get(...statement.values);
      return 1;
    } catch (error) {
      throw this.#failure(error);
    }
  }

  insertRows(into: Sql, rows: readonly Tuple[]): void {
    const places = (rows[0] ?? []).map(() => '?').join(', ');
    try {
      const prepared = this.#prepare({ text: `INSERT INTO ${into.text} VALUES (${places})` });
      // `get` instead of `run`, as above.
      for (const row of rows) prepared.get(...row);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** Copies the whole log into the file and truncates it. Throws an EngineFailure when another process is reading from it. */
  emptyLog(): void {
    const row = this.get(sql`PRAGMA wal_checkpoint(TRUNCATE)`);
    if (row?.['busy'] !== 0) throw new EngineFailure(new Error('The log is in use.'));
  }

  /** Copies the log into the file, so that the next write restarts it if no connection reads from it. Waits for no other process. */
  copyLog(): void {
    this.get(sql`PRAGMA wal_checkpoint(PASSIVE)`);
  }

  /** As {@link emptyLog}, but does not wait: where another connection reads from the log, it is only copied. */
  foldLog(): void {
    this.#database.exec('PRAGMA busy_timeout = 0');
    try {
      this.get(sql`PRAGMA wal_checkpoint(TRUNCATE)`);
    } finally {
      this.#database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  }

  /** Copies the log into the file when much of it is not there yet. What cannot be copied stays in the log, for the next time. */
  copyLongLog(): void {
    try {
      const [state] = this.tuples(sql`PRAGMA wal_checkpoint(NOOP)`);
      const [, pages, copiedPages] = (state ?? []).map(Number);
      if ((pages ?? 0) - (copiedPages ?? 0) >= checkpointPages) this.copyLog();
    } catch {
      // A disk that is full or fails fails the next commit, which reports it.
    }
  }

  /** How long the log has been: it is not cut when it begins anew, but at the limit of its size. */
  get logBytes(): number {
    return statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Resolves when all that was committed is on the disk; a slow disk does not block this thread. Rejects with an EngineFailure. */
  async syncLog(): Promise<void> {
    try {
      await this.#log.sync();
    } catch (error) {
      throw new EngineFailure(error);
    }
  }

  close(): void {
    this.#rowStatements.clear();
    this.#tupleStatements.clear();
    this.#log.close();
    this.#database.close();
  }

  /** Translates an error of a statement. When a read-only file system refuses a write, none of it was written. */
  #failure(error: unknown): unknown {
    if (isFailedWrite(error) && writingRefusal(this.#path) === 'EROFS')
      return new EngineFailure(error, { isCertain: true });
    return toEngineError(error);
  }

  #prepareTuples({ text, tables }: Sql): StatementSync {
    this.#deadline.reset();
    const cached = this.#tupleStatements.find(text);
    if (cached !== undefined) return cached;
    assert(this.#readsViews || !tables.includes(viewTables), 'a view is read where nothing can end it');
    const prepared = this.#database.prepare(text);
    prepared.setReturnArrays(true);
    this.#tupleStatements.add(text, prepared);
    return prepared;
  }

  #prepare({ text, form, tables }: Pick<Sql, 'text'> & Partial<Sql>): StatementSync {
    this.#deadline.reset();
    const cached = this.#rowStatements.find(text);
    if (cached !== undefined) return cached;
    assert(tables?.includes(viewTables) !== true, 'a view is read where nothing can end it');
    const prepared = this.#database.prepare(text);
    // An explanation that is kept does not notice that the schema has changed.
    if (form?.kind !== 'explain') this.#rowStatements.add(text, prepared);
    return prepared;
  }
}

/** A cache that finalizes evicted statements at once: the garbage collector sees only a few bytes of each, and would come late. */
function statementCache(): GenerationCache<string, StatementSync> {
  const lengthOf = (_: StatementSync, text: string): number => text.length + statementLength;
  // Node 24 has no `close` yet, nor do the types.
  const close = (statement: StatementSync & { close?: () => void }): void => statement.close?.();
  return new GenerationCache(statementsLengthMax, lengthOf, close);
}

/** Collects the rows. Throws `bad_request` when they exceed the maximum. */
function takeAll(source: Iterable<unknown>, bytesMax = answerBytesMax): Tuple[] {
  const rows: Tuple[] = [];
  let bytes = 0;
  for (const row of source) {
    // The statement was set to return rows as arrays.
    const tuple = row as Tuple;
    bytes += bytesOfTuple(tuple);
    if (bytes > bytesMax) throw answerTooLarge();
    rows.push(tuple);
  }
  return rows;
}

export type Synchronous = 'FULL' | 'NORMAL';

interface ConnectionOptions {
  readonly isReadOnly: boolean;
  readonly synchronous: Synchronous;
  readonly queryTimeoutMs?: number;
  readonly clock?: Clock;
}

function open(path: string, { isReadOnly }: ConnectionOptions): DatabaseSync {
  const database = new DatabaseSync(path, {
    readOnly: isReadOnly,
    timeout: BUSY_TIMEOUT_MS,
    enableForeignKeyConstraints: true,
    defensive: true,
    // The length of one value or row, and so of a page of a list that SQLite writes as one JSON text.
    limits: { length: answerBytesMax },
  });
  try {
    database.exec(`PRAGMA soft_heap_limit = ${heapBytesMax}`);
    if (isReadOnly) {
      database.exec(`PRAGMA cache_size = -${READER_CACHE_KIB}`);
    } else {
      writeAhead(database);
      // Syncs what a checkpoint relies on. Commits are synced by `syncLog`.
      database.exec('PRAGMA synchronous = NORMAL');
      database.exec(`PRAGMA journal_size_limit = ${JOURNAL_SIZE_LIMIT_BYTES}`);
      // SQLite would copy the log in a COMMIT, while a held view keeps its end from being copied, so that the log would never begin anew.
      database.exec('PRAGMA wal_autocheckpoint = 0');
    }
    database.exec('PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON');
    return database;
  } catch (error) {
    // Otherwise each attempt while the medium fails would leak file descriptors until the next garbage collection.
    database.close();
    throw error;
  }
}

/**
 * Sets the file to write-ahead logging. When two processes create the same file at once, both hold a read lock before one writes, and
 * SQLite then fails with SQLITE_BUSY at once, whatever the time-out. BEGIN IMMEDIATE does wait for the lock, and so until the other
 * process is done.
 */
function writeAhead(database: DatabaseSync): void {
  for (let tries = 1; ; tries += 1)
    try {
      database.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || tries === writeAheadTriesMax) throw error;
      database.exec('BEGIN IMMEDIATE; COMMIT');
    }
}

/** Identifies the file at a path, until it is removed: another one in its place has another. Undefined where there is none. */
export function inodeOf(path: string): string | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino.toString();
}

/**
 * Returns the code of the error with which the system refuses writes to a file or directory, or undefined. A file system may become
 * read-only while it is in use (`EROFS`): Linux does that when its medium fails.
 */
export function writingRefusal(path: string): string | undefined {
  try {
    accessSync(path, constants.W_OK);
    return undefined;
  } catch (error) {
    return codeOf(error);
  }
}

const syncAside = promisify(fdatasync);

/** After a longer sync, the following ones do not block this thread. Crossing to another thread and back costs a fifth of a create (decision 18). */
const quickSyncMs = 1;

/** So many quick syncs in a row show that the disk is a quick one, or has become one again. */
const quickSyncs = 64;

/**
 * Syncs the write-ahead log of a file: on this thread while the disk is quick, otherwise from a thread of libuv's pool, so that this
 * thread goes on meanwhile.
 */
class LogSync {
  readonly #path: string;
  #descriptor: number | undefined;
  #quickInRow = 0;

  /** `path` is that of the database; its log stays the same file for as long as a connection is open. */
  constructor(path: string) {
    this.#path = `${path}-wal`;
  }

  /** Resolves when all earlier commits are on the disk. Rejects with the system's error; it is then unknown what is on the disk. */
  async sync(): Promise<void> {
    this.#descriptor ??= openSync(this.#path, 'r+');
    const startMs = systemClock.monotonic();
    if (this.#quickInRow >= quickSyncs) fdatasyncSync(this.#descriptor);
    else await syncAside(this.#descriptor);
    this.#quickInRow = systemClock.monotonic() - startMs > quickSyncMs ? 0 : this.#quickInRow + 1;
  }

  close(): void {
    const descriptor = this.#descriptor;
    this.#descriptor = undefined;
    try {
      if (descriptor !== undefined) closeSync(descriptor);
    } catch {
      // It is closed all the same.
    }
  }
}
