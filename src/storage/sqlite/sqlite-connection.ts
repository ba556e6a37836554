import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { systemClock } from '../../base/clock.ts';
import { GenerationMap } from '../../base/generation-map.ts';
import { realTextFunction } from '../../sql/real-text-function.ts';
import { sql, type Sql } from '../../sql/sql.ts';
import { answerBytesMax, answerTooLarge } from '../answer-too-large.ts';
import type { PlainTuple, Row, Tuple } from '../database.ts';
import { EngineFailure, isBusy, QueryTimeout, toEngineError } from '../engine-errors.ts';
import { LogSync } from './log-sync.ts';
import { jsonNumber } from './sqlite-json.ts';

/**
 * Characters of prepared statements a generation: what SQLite holds of each grows with its columns and conditions, to hundreds of
 * kilobytes, and guests choose what they ask. A short one counts as this many more, for what it holds all the same.
 */
const statementsLengthMax = 256 * 1024;
const statementLength = 512;

const QUERY_TIMEOUT_MS = 1_000;
const BUSY_TIMEOUT_MS = 5_000;
/** Two are enough as a rule: whoever fails then waits for another who does it. More are needed only where that one gives up. */
const writeAheadTriesMax = 10;

/** Without a limit one large transaction would leave its log at that size for ever. */
const JOURNAL_SIZE_LIMIT_BYTES = 64 * 1024 * 1024;

/** Of 4 KiB: a page that is written often goes into the file once for all of its versions in this much of the log. */
const CHECKPOINT_PAGES = 4_000;

/** Of a reader, whose pages are all clean: what does not fit into these is read from the system each time. */
const READER_CACHE_KIB = 16 * 1024;

/** Of all connections of a process together: beyond it each one gives up a page of its own for every new one. */
const heapBytesMax = 128 * 1024 * 1024;

/** One connection to one file: pragmas, prepared statements, errors in our own words. */
export class SqliteConnection {
  readonly #database: DatabaseSync;
  readonly #log: LogSync;
  /** What its commits wait for, unless they are told otherwise. */
  readonly #synchronous: Synchronous;
  #isSyncedAside = false;
  readonly #deadline: Deadline;
  readonly #rowStatements = knownStatements();
  readonly #tupleStatements = knownStatements();

  constructor(path: string, options: ConnectionOptions) {
    this.#deadline = new Deadline(options.queryTimeoutMs ?? QUERY_TIMEOUT_MS);
    this.#synchronous = options.synchronous;
    this.#log = new LogSync(path);
    try {
      this.#database = open(path, options);
      this.#database.function(jsonNumber, { deterministic: true, directOnly: true }, (number) =>
        JSON.stringify(number),
      );
      this.#database.function(
        realTextFunction.name,
        { deterministic: true, directOnly: true },
        realTextFunction.call,
      );
      this.#database.function('$in_time', { varargs: true, directOnly: true }, () => this.#deadline.check());
    } catch (error) {
      throw toEngineError(error);
    }
  }

  get isInTransaction(): boolean {
    return this.#database.isTransaction;
  }

  all(statement: Sql): Row[] {
    try {
      return this.#prepare(statement.text).all(...statement.values);
    } catch (error) {
      throw toEngineError(error);
    }
  }

  get(statement: Sql): Row | undefined {
    try {
      return this.#prepare(statement.text).get(...statement.values);
    } catch (error) {
      throw toEngineError(error);
    }
  }

  tuples(statement: Sql): Tuple[] {
    this.#deadline.reset();
    try {
      // The mode set below makes rows arrays; the types of node:sqlite do not follow it.
      return this.#prepareTuples(statement.text).all(...statement.values) as unknown as Tuple[];
    } catch (error) {
      throw toEngineError(error);
    }
  }

  /** As `tuples`, row by row, as nobody knows how large they are: that takes longer. */
  search(statement: Sql): Tuple[] {
    this.#deadline.reset();
    try {
      const found = this.#prepareTuples(statement.text).iterate(...statement.values);
      try {
        return takeAll(found);
      } catch (error) {
        // A step that fails leaves the statement where it is, and with it the transaction that it reads in.
        found.return?.();
        throw error;
      }
    } catch (error) {
      throw toEngineError(error);
    }
  }

  run(statement: Sql): number {
    try {
      const prepared = this.#prepare(statement.text);
      if (statement.together !== 'insert') return Number(prepared.run(...statement.values).changes);
      // One row, as is known before: the object that would tell so costs as much as binding three values.
      prepared.get(...statement.values);
      return 1;
    } catch (error) {
      throw toEngineError(error);
    }
  }

  insertRows(into: Sql, rows: readonly PlainTuple[]): void {
    const places = (rows[0] ?? []).map(() => '?').join(', ');
    try {
      const prepared = this.#prepare(`INSERT INTO ${into.text} VALUES (${places})`);
      // As above.
      for (const row of rows) prepared.get(...row);
    } catch (error) {
      throw toEngineError(error);
    }
  }

  /** Leaves the commits from now on to {@link syncLog}, or does not; answers whether they are. Outside a transaction. */
  setSyncedAside(isWanted: boolean): boolean {
    const isSyncedAside = isWanted && this.#synchronous === 'FULL' && this.#log.open();
    if (this.#isSyncedAside === isSyncedAside) return isSyncedAside;
    try {
      this.#database.exec(`PRAGMA synchronous = ${isSyncedAside ? 'NORMAL' : this.#synchronous}`);
    } catch (error) {
      throw toEngineError(error);
    }
    this.#isSyncedAside = isSyncedAside;
    return isSyncedAside;
  }

  /** Brings the whole log into the file and begins it anew. Throws an EngineFailure where another process reads in it. */
  emptyLog(): void {
    const row = this.get(sql`PRAGMA wal_checkpoint(TRUNCATE)`);
    if (row?.['busy'] !== 0) throw new EngineFailure(new Error('The log is in use.'));
  }

  /** Resolves when all that was committed is on the disk, and holds up nothing else meanwhile. Throws an EngineFailure. */
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

  #prepareTuples(text: string): StatementSync {
    const found = this.#tupleStatements.find(text);
    if (found !== undefined) return found;
    const prepared = this.#database.prepare(text);
    prepared.setReturnArrays(true);
    this.#tupleStatements.add(text, prepared);
    return prepared;
  }

  #prepare(text: string): StatementSync {
    const found = this.#rowStatements.find(text);
    if (found !== undefined) return found;
    const prepared = this.#database.prepare(text);
    this.#rowStatements.add(text, prepared);
    return prepared;
  }
}

/** What is dropped gives its memory back at once: the collector would take it for a few bytes, and come late. */
function knownStatements(): GenerationMap<string, StatementSync> {
  const lengthOf = (_: StatementSync, text: string): number => text.length + statementLength;
  // Node 24 has no such method yet, nor have the types.
  const close = (statement: StatementSync & { close?: () => void }): void => statement.close?.();
  return new GenerationMap(statementsLengthMax, lengthOf, close);
}

/** Throws `bad_request` when they are more than can be held. */
function takeAll(found: Iterable<unknown>): Tuple[] {
  const rows: Tuple[] = [];
  let bytes = 0;
  for (const row of found) {
    // Rows are arrays, as their statement was told.
    const tuple = row as Tuple;
    bytes += bytesOf(tuple);
    if (bytes > answerBytesMax) throw answerTooLarge();
    rows.push(tuple);
  }
  return rows;
}

/** Of a text, at least: how many it has in UTF-8 is not worth counting them. */
function bytesOf(tuple: Tuple): number {
  let bytes = 0;
  for (const value of tuple)
    if (typeof value === 'string') bytes += value.length;
    else if (value instanceof Uint8Array) bytes += value.byteLength;
  return bytes;
}

/** Ends a statement that goes on for longer than this: SQLite calls it for rows, and it throws. */
class Deadline {
  readonly #timeoutMs: number;
  #startMs: number | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** For the statement that begins now. */
  reset(): void {
    this.#startMs = undefined;
  }

  check(): number {
    const nowMs = systemClock.monotonic();
    this.#startMs ??= nowMs;
    if (nowMs - this.#startMs > this.#timeoutMs) throw new QueryTimeout();
    return 1;
  }
}

export type Synchronous = 'FULL' | 'NORMAL';

interface ConnectionOptions {
  readonly isReadOnly: boolean;
  readonly synchronous: Synchronous;
  readonly queryTimeoutMs?: number;
}

function open(path: string, { isReadOnly, synchronous }: ConnectionOptions): DatabaseSync {
  const database = new DatabaseSync(path, {
    readOnly: isReadOnly,
    timeout: BUSY_TIMEOUT_MS,
    enableForeignKeyConstraints: true,
    defensive: true,
    // Of a value or a row, and so of a page that the engine writes as one text.
    limits: { length: answerBytesMax },
  });
  try {
    database.exec(`PRAGMA soft_heap_limit = ${heapBytesMax}`);
    if (isReadOnly) {
      database.exec(`PRAGMA cache_size = -${READER_CACHE_KIB}`);
    } else {
      writeAhead(database);
      database.exec(`PRAGMA synchronous = ${synchronous}`);
      database.exec(`PRAGMA journal_size_limit = ${JOURNAL_SIZE_LIMIT_BYTES}`);
      database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    }
    database.exec('PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON');
    return database;
  } catch (error) {
    // Or every try while the medium fails would leave its descriptors behind until the next collection of garbage.
    database.close();
    throw error;
  }
}

/**
 * Gives the file a write-ahead log. Two processes that make the same file at once stand in each other's way: both have read it before
 * one writes, and whoever has read waits for no lock, whatever the time-out. A transaction that begins with the lock does wait for
 * it, and so until the other process is done.
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
