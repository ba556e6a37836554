import { AppError } from '../base/errors.ts';
import type { Dialect } from '../filters/dialect.ts';
import type { Sql, SqlValue } from '../sql/sql.ts';
import type { InternalTable } from './internal-table.ts';
import type { ViewDialect, ViewQueries } from './view-query.ts';

/**
 * The port of an engine, and the promises both engines keep:
 *
 * - `write` runs its work in a transaction that is committed and synced before the promise resolves. What it returned may
 *   be acknowledged. When it rejects with an AppError other than `outcome_unknown`, nothing of it was kept.
 * - Works may share one commit, but never each other's fate: a work that throws is rolled back alone. Its rejection, too,
 *   waits for the commit, because it may have read rows that another work of the group wrote.
 * - A work may run more than once before its promise settles (another work of its group failed, two nodes collided). It has
 *   side effects only through its `tx`; what must happen exactly once belongs in `afterCommit`.
 * - A work awaits nothing but its `tx`: it would hold the file's lock or a connection meanwhile. A breach fails the work. The event loop
 *   may turn while a statement of an exclusive work runs, as on PostgreSQL it does for all.
 * - Reads outside a work see committed rows only, and everything a resolved `write` wrote.
 * - Text compares bytewise, and positions grow in commit order.
 *
 * Callers never see a driver's error: engine-errors.ts turns it into an AppError or an EngineFailure.
 *
 * The map of this folder. data-home.ts: where a process keeps its data; migrate.ts: brings the tables up to date.
 * - SQLite: home.ts, then sqlite-database.ts. write-queue.ts does the group commit on the one sqlite-connection.ts that
 *   writes; a work gets a sqlite-transaction.ts, and its searches the budget of write-searches.ts. Works that alter large tables are left
 *   to a writer-thread.ts, searches outside of works that take long to the threads of a reader-pool.ts.
 * - PostgreSQL: home.ts, then postgres-database.ts, on connections of a postgres-pool.ts, which also limits the writers. A work gets
 *   a postgres-transaction.ts, a read a connection by pooled-reads.ts. write-groups.ts lets works share a transaction, read-batches.ts
 *   lets reads share a statement. batched-statements.ts makes one statement of many. The log's tables have partitions (log-partitions.ts).
 * - What engines write differently: `Names` with its `tables` here, and the `Dialect` of filters/. No other room branches on the engine.
 * - Both: bulk-inserts.ts inserts the rows of several works together.
 */
export interface Database extends Reader, ViewQueries {
  readonly engine: Engine;
  write<Result>(work: (tx: Transaction) => Promise<Result>, options?: WriteOptions): Promise<Result>;
  /**
   * An object that identifies the committed state: the same object until this or any other process commits something. Undefined on
   * PostgreSQL, where finding it out would cost as much as a read.
   */
  state(): object | undefined;
  /** Waits for running works and reads, folds the log into the file, closes. */
  stop(): Promise<void>;
}

export type Engine = 'sqlite' | 'postgres';

export interface WriteOptions {
  /** The work shares its commit with no other: for changes of tables, after which compiled statements are stale. */
  readonly isExclusive?: boolean;
  /**
   * How many tables an exclusive work alters or drops. SQLite may take seconds for them, and then does so in another thread: only the other
   * works of this instance wait.
   */
  readonly alteredTables?: number;
  /** The longest that one statement of the work may take. Only for PostgreSQL, where statements wait for locks of other works. */
  readonly statementMsMax?: number;
  /** The work inserts rows and changes none that exist: on PostgreSQL it may then share a transaction with others. */
  readonly isAppending?: boolean;
  /**
   * As `isAppending`, but the work also changes the one row with this key, and locks it by a lookup before it writes anything. Works
   * that share a transaction have different keys.
   */
  readonly changes?: string;
  /**
   * Every statement of the work finds its rows by their keys. On PostgreSQL, plans that read a whole table are then ruled out, as a plan
   * that is made while a table is small stays cached when the table has grown; and each statement is planned once (`foundByKeys`).
   */
  readonly findsByKey?: boolean;
}

/**
 * What things are called where the statement will run. On SQLite every instance has a file of its own; on PostgreSQL its
 * collections have a schema, and the internal tables are shared, so that each statement on them names its instance.
 */
export interface Names {
  readonly engine: Engine;
  /** An internal table: `$event`. */
  table(name: InternalTable): Sql;
  /** Selects the columns of an internal table but that of the instance: their names, and what they hold (`InlineKind`). */
  columnsOf(name: InternalTable): Sql;
  /** The table of a collection, or an index to drop, by the name that the API shows. */
  collectionTable(name: string): Sql;
  /** As `collectionTable` without the schema: for CREATE INDEX and RENAME TO. */
  bareName(name: string): Sql;
  /** A column of a collection's table, by the name that the API shows. */
  column(name: string): Sql;
  /** Selects the names of all indexes on tables of collections, as the engine has them. */
  readonly indexNames: Sql;
  /** Selects the bytes that the data of the instance takes. */
  readonly dataBytes: Sql;
  readonly instance: InstanceScope;
  /** The position of the row that this transaction inserted last. Not for works that share a transaction: it may be another's row. */
  readonly lastPosition: Sql;
  /** Inserts rows and the rows that follow from them: one statement where the engine can, or several to run in this order. */
  insertWithDependents(insertion: Insertion, following: DependentRows): readonly Sql[];
  /**
   * A FROM item with the alias `given` and these rows, each with a value for every column. The SQL text is the same for any number of
   * rows; `columns` should be the same array each time.
   */
  valuesTable(columns: readonly InlineColumn[], rows: readonly Tuple[]): Sql;
  /**
   * Stands behind a column of texts, or of integers: true when it equals one of the values. The SQL text is the same for any number of
   * them: prepared once.
   */
  anyOf(values: readonly string[]): Sql;
  anyNumberOf(values: readonly number[]): Sql;
  /**
   * A condition on rows that is true until the query timeout has passed, and then ends the statement. It reads the clock for every
   * row, which costs as much as reading the row, or for one row in 64. `number` is an integer column of these rows: the same condition
   * on no column would be evaluated only once. Undefined where the engine itself ends statements that take too long.
   */
  isInTime(number: Sql, looks: 'for every row' | 'for some'): Sql | undefined;
  /** The text of a column of bytes that are UTF-8. */
  textOfBytes(column: Sql): Sql;
  readonly json: JsonWriter;
  readonly dialect: Dialect;
  readonly tables: TableDialect;
  readonly views: ViewDialect;
  readonly positions: PositionDialect;
  /** Whether works run at the same time, those of other processes too: rows have to be locked. Otherwise they run one after the other. */
  readonly isConcurrent: boolean;
  /** Whether changed rows leave entries behind in indexes, which later searches pass over. */
  readonly leavesDeadRows: boolean;
  /** How the engine would find the rows of a SELECT. */
  readPlan(database: Database, select: Sql): Promise<Plan>;
  readonly locks: RowLocks;
}

/** How statements on internal tables name the instance. */
export interface InstanceScope {
  /** The condition that restricts an internal table to this instance; TRUE on SQLite, where the instance has the table for itself. */
  readonly condition: Sql;
  /** As `condition`, for a table that has an alias in the statement. */
  conditionOf(alias: string): Sql;
  /** The first column and value of an INSERT into an internal table: empty, or with a comma at the end. */
  readonly column: Sql;
  readonly value: Sql;
}

/** A table whose rows are numbered, and the column that numbers them. */
export interface NumberedTable {
  readonly name: string;
  readonly table: Sql;
  readonly column: string;
}

/** What engines write differently about the positions of rows. */
export interface PositionDialect {
  /** Selects the last position that was ever used, also of rows that are gone; null or no row where that is not kept. */
  last(table: NumberedTable): Sql;
  /** Returns statements after which no row gets a position up to this one. */
  goOnBehind(table: NumberedTable, position: number): readonly Sql[];
}

/** What stands at the end of a SELECT to lock its rows; empty on SQLite, where works run one after the other. */
export interface RowLocks {
  /** The row lock at the end of a SELECT whose row the work is going to change. */
  readonly forUpdate: Sql;
  /** The row lock at the end of a SELECT whose row the work is going to delete: no other work can begin to refer to it meanwhile. */
  readonly forDelete: Sql;
  /** The row lock at the end of a SELECT of rows that the work is going to refer to: they cannot be deleted until it is over. */
  readonly forReference: Sql;
  /** The row lock at the end of a SELECT of rows that the work is going to delete; leaves out rows that another work has locked. */
  readonly skipLocked: Sql;
}

/** What engines write differently about the tables of collections. */
export interface TableDialect {
  /**
   * Returns the columns that every table begins with. A position is never used again: a reader that remembers one would take a new
   * record for one it has seen.
   */
  hiddenColumns(): Sql;
  /** Their names, separated by commas. */
  readonly hiddenNames: Sql;
  /** Stands at the end of CREATE TABLE. */
  readonly end: Sql;
  /**
   * Returns what follows `ALTER TABLE` to add the keys to a table that was created without them, when it was filled; undefined where
   * `hiddenColumns` has them.
   */
  addedKeys(collectionId: string): Sql | undefined;
  /** Undefined where one ALTER TABLE changes all columns of a table: elsewhere a table is rebuilt for what would take many. */
  readonly rebuilding: TableRebuilding | undefined;
  /** The statements that count the rows of a table in `$quota` from now on, and those that end it, by the id of the collection. */
  readonly rowCounting: {
    make(table: Sql, collectionId: string): readonly Sql[];
    drop(table: Sql, collectionId: string): readonly Sql[];
  };
  /** Returns the keys of an index, some of which the engine may have to shorten or leave out. */
  indexKeys(keys: readonly IndexKey[], isUnique: boolean): readonly Sql[];
  /** Returns the part of a long text that an index holds, with its length in code points; undefined where it holds the whole text. */
  indexedPart(text: Sql): { readonly sql: Sql; readonly length: number } | undefined;
}

/** What is needed to put another table into the place of one. */
export interface TableRebuilding {
  /** Returns the statement that lets a table go on where the positions of another have ended, by their names. */
  movePositions(from: string, to: string): Sql;
}

/** A key of an index: an expression, what it holds, and ` DESC` or nothing. A short text has at most 255 bytes. */
export interface IndexKey {
  readonly sql: Sql;
  readonly kind: 'number' | 'short text' | 'long text';
  readonly order: Sql;
}

export interface Plan {
  /** How many tables no index leads into. They are read from their beginning, perhaps in the order of an index. */
  readonly scanned: number;
  /** Whether all rows are sorted before the first one is known. */
  readonly isSorted: boolean;
}

/** A column of {@link Names.valuesTable}; every column may also hold NULL. */
export type InlineColumn = readonly [name: string, kind: InlineKind];
export type InlineKind = 'text' | 'number' | 'bytes';

/** Rows for a table that numbers its rows by `position`, in this order. */
export interface Insertion {
  /** The table. */
  readonly from: Sql;
  /** INSERTs of one row each, all with the same SQL text. */
  readonly inserts: readonly Sql[];
}

/** Rows for another table, each made of an inserted row and of given values. */
export interface DependentRows {
  /** `INSERT INTO table (columns)`, to stand before SELECT. */
  readonly into: Sql;
  /** The SELECT list: expressions over `inserted.position` and columns of `given`. */
  readonly row: Sql;
  /** The columns of `given`; the same array each time, as for {@link Names.valuesTable}. */
  readonly columns: readonly InlineColumn[];
  readonly runs: readonly DependentRun[];
}

/** One following row with these values for each inserted row from `first` to `last`, which are places in `inserts`, from 0. */
export interface DependentRun {
  readonly first: number;
  readonly last: number;
  readonly values: PlainTuple;
}

/** How an engine writes a row as JSON text, so that it sends one value for each row instead of one for each column. */
export interface JsonWriter {
  /** The JSON text of a column's value; `ofNothing` is the text for a `json` column that is NULL or empty. */
  value(kind: 'text' | 'number' | 'bool' | 'json', column: Sql, ofNothing: string): Sql;
  /** The texts one after the other. */
  concat(parts: readonly Sql[]): Sql;
}

export interface Reader {
  readonly names: Names;
  /** All rows as objects by column name. */
  all(statement: Sql): Promise<Row[]>;
  /** The first row, or undefined. */
  get(statement: Sql): Promise<Row | undefined>;
  /** All rows as arrays in the order of the selected columns: faster than objects, for the hot paths. */
  tuples(statement: Sql): Promise<Tuple[]>;
  /**
   * As `tuples`, for a query that takes as long as clients make it: by their filters, sorts and rules, or by the records that it looks
   * through. Not for locks of rows by their keys: on PostgreSQL works that wait for each other are only run again when the server has
   * noticed it, after a second. Rejects with bad_request when the rows are too large to hold in memory, and with a
   * QueryTimeout when the query timeout has passed. On SQLite the statement itself must contain the condition for that
   * (`names.isInTime`). An exclusive work on PostgreSQL has its own time instead.
   */
  search(statement: Sql, options?: SearchOptions): Promise<Tuple[]>;
}

export interface SearchOptions {
  /** The rows are found by a key, so that the query timeout need not apply. */
  readonly isQuick?: boolean;
  /** How much of the query timeout earlier searches for the same answer have taken. */
  readonly spentMs?: number;
  /** A shorter time than the query timeout. Only for searches outside of works. */
  readonly timeoutMs?: number;
  /** The most that the rows may take in memory; by default {@link answerBytesMax}. */
  readonly bytesMax?: number | undefined;
  /**
   * In a work: runs no rule or filter of a client. All others share a budget, as a work blocks everyone on SQLite: there one for each
   * file (write-searches.ts), on PostgreSQL the query timeout for all searches of the work. Rejects with a QueryTimeout when it is used up.
   */
  readonly isExempt?: boolean;
}

/** The brand keeps TypeScript from accepting a Database where a Transaction is required, as for appending an event. */
export interface Transaction extends Reader {
  readonly isTransaction: true;
  /** Runs a statement; resolves to the number of changed rows. */
  run(statement: Sql): Promise<number>;
  /** As `run`; resolves to the rows that the statement returns. The methods of {@link Reader} change nothing. */
  returning(statement: Sql): Promise<Tuple[]>;
  /**
   * Inserts rows in their order, by the engine's bulk insert. `into` is a table and its columns, as they stand behind INSERT INTO; there
   * is at least one row, and all have equally many values. Not for rows that may be refused: whether the rows before a refused one
   * stay depends on the engine.
   */
  insertRows(into: Sql, rows: readonly Tuple[]): Promise<void>;
  /**
   * Inserts a row together with those of other works, where works share a transaction. On SQLite the rows are flushed at the end, or
   * before a statement that names one of their tables; on PostgreSQL after all earlier statements.
   */
  insertLater<Row>(bulkInsert: BulkInsert<Row>, row: Row): Promise<void>;
  /**
   * Runs steps in this order. Where the engine can pipeline, they share one round trip, so no step may need the result of an earlier
   * one. Rejects with the error of the first step that failed.
   */
  inOrder(steps: readonly (() => Promise<unknown>)[]): Promise<void>;
  /**
   * Lets the event loop turn in the middle of a work that alters tables ({@link WriteOptions.alteredTables}) and takes long. Elsewhere it
   * does nothing: other works would wait.
   */
  pause(): Promise<void>;
  /** Called after the commit, in order, before the work's promise resolves. Must not throw; lost when the process dies. */
  afterCommit(callback: () => void): void;
}

/** How rows are inserted many at once: rows that were added with the same BulkInsert object are inserted together. */
export interface BulkInsert<Row> {
  /** The tables that `write` inserts into. */
  readonly tables: readonly InternalTable[];
  /** The approximate size of a row. */
  readonly bytesOf: (row: Row) => number;
  /** Inserts the rows in their order: all, or none when it throws. `tx` may be another object than that of the works. */
  readonly write: (tx: Transaction, rows: readonly Row[]) => Promise<void>;
}

export type Row = Readonly<Record<string, SqlValue>>;
export type Tuple = readonly SqlValue[];

/** What a row takes in memory, in bytes. A lower bound: counting the UTF-8 bytes of texts is not worth the time. */
export function bytesOfTuple(tuple: Tuple): number {
  let bytes = 0;
  for (const value of tuple)
    if (typeof value === 'string') bytes += value.length;
    else if (value instanceof Uint8Array) bytes += value.byteLength;
  return bytes;
}
export type PlainTuple = readonly (string | number | null)[];

/** The limit for the rows of one query, or an answer made of them: several of the largest bodies, and an acceptable share of memory. */
export const answerBytesMax = 256 * 1024 * 1024;

/** An answer would take more memory than one request may, or than the rows of a search were to take. */
export class AnswerTooLarge extends AppError {
  constructor(cause?: unknown) {
    super('bad_request', 'The answer would be too large: ask for fewer records.', { cause });
  }
}

export function answerTooLarge(cause?: unknown): AppError {
  return new AnswerTooLarge(cause);
}

/** Runs a callback after a commit. If it throws, that is a bug and ends the process, but never makes a committed work look refused. */
export function callBack(callback: () => void): void {
  try {
    callback();
  } catch (error) {
    setImmediate(() => {
      throw error;
    });
  }
}
