import type { Sql, SqlValue } from '../sql/sql.ts';

/**
 * The port of an engine, and the promises both engines keep:
 *
 * - `write` runs its work in a transaction that is committed and synced before the promise resolves. What it returned may
 *   be acknowledged. When it rejects with an AppError other than `outcome_unknown`, nothing of it was kept.
 * - Works may share one commit, but never each other's fate: a work that throws is rolled back alone. Its rejection, too,
 *   waits for the commit, because what it saw may rest on a neighbour's rows.
 * - A work may run more than once before its promise settles (a neighbour failed, two nodes collided): it leaves traces
 *   only in its `tx`, and what it must do once it does in `afterCommit`.
 * - Inside a work nothing but its `tx` is awaited. On SQLite a breach fails the work; on PostgreSQL it would hold a connection.
 * - Reads outside a work see committed rows only, and everything a resolved `write` wrote.
 * - Text compares bytewise, and positions grow in commit order.
 *
 * Errors of a driver never pass: engine-errors.ts turns them into AppErrors or EngineFailures.
 *
 * Where what is: data-home.ts is where a process has its data, migrate.ts brings its tables up to date.
 * - SQLite: open-sqlite-home.ts, then sqlite.ts. write-queue.ts has works share a commit on the one sqlite-connection.ts that
 *   writes; each is a sqlite-transaction.ts.
 * - PostgreSQL: open-postgres-home.ts, then postgres.ts, on connections of a postgres-pool.ts. postgres-gate.ts lets writers in,
 *   postgres-opening.ts begins a transaction, postgres-transaction.ts is that of one work. In postgres-groups.ts works share one,
 *   each a shared-transaction.ts; in postgres-questions.ts reads share a statement, in postgres-shared-sessions.ts a connection.
 *   postgres-combine.ts makes one statement of many.
 * - Both: gathered-rows.ts inserts the rows of several works together, answer-memory.ts keeps answers for as long as `state` stays.
 */
export interface Database extends Reader {
  readonly engine: Engine;
  write<Result>(work: (tx: Transaction) => Promise<Result>, options?: WriteOptions): Promise<Result>;
  /**
   * Stands for all that reads may see now: the same object until something is committed, by whomever. Undefined where it cannot be
   * told, or not for less than a read costs. Never rejects. Where `asOfMs` (`systemClock.monotonic`) is given, the state at any
   * moment after that will do.
   */
  state(asOfMs?: number): object | undefined | Promise<object | undefined>;
  /** How the engine finds the rows of a list: for those who made the indexes. `isFiltered` where a client restricts the list. */
  access(statement: Sql, list: { readonly isFiltered: boolean }): Promise<Access>;
  /** Ends what is running, folds the log into the file, closes. */
  stop(): Promise<void>;
}

/** An index leads to the rows, or some table has to be read from its beginning to its end. */
export type Access = 'index' | 'scan';

export type Engine = 'sqlite' | 'postgres';

export interface WriteOptions {
  /** Shares its commit with no other work: for changes of tables, after which compiled statements are stale. */
  readonly isExclusive?: boolean;
  /** How long one of its statements may take, where statements wait for other works. */
  readonly statementMsMax?: number;
  /** Inserts, and changes no row that is there: on an engine where every work has a transaction of its own it may share one. */
  readonly isAppending?: boolean;
  /**
   * As `isAppending`, but for one row: it has this key, and the work looks it up to change it before it writes anything. Works that
   * share a transaction have different keys.
   */
  readonly changes?: string;
  /**
   * Gives rows in many turns (`Transaction.gather`): where every work has a transaction of its own they wait for each other, which costs
   * a work that gives a single one a round trip.
   */
  readonly isGathering?: boolean;
  /**
   * Holds up nobody while it is synced: others may see what it has written before that, and act on what is gone when the machine fails.
   * Where a sync holds up nobody in any case it changes nothing.
   */
  readonly isSyncedAside?: boolean;
}

/**
 * What things are called where the statement will run. On SQLite every instance has a file of its own; on PostgreSQL its
 * collections have a schema, and the internal tables are shared, so that each statement on them says which instance it means.
 */
export interface Names {
  readonly engine: Engine;
  /** An internal table: `$event`. */
  table(name: InternalTable): Sql;
  /** The table of a collection, or an index of one that is to be dropped, by the name that its owner knows. */
  collectionTable(name: string): Sql;
  /** Such a name without its schema: of an index that is to be made, or what a table is to be called. */
  bareName(name: string): Sql;
  /** A column of such a table, by the name that its owner knows. */
  column(name: string): Sql;
  /** The condition that restricts an internal table to this instance; true where it has the table for itself. */
  readonly scope: Sql;
  /** As `scope`, for a table that has an alias in the statement. */
  scopeOf(alias: string): Sql;
  /** Begins the columns, and the values, of a row for an internal table: empty, or with a comma at the end. */
  readonly scopeColumn: Sql;
  readonly scopeValue: Sql;
  /** The position that the last row of this transaction was given in a table that counts them; not where works share one. */
  readonly lastPosition: Sql;
  /** Inserts rows and those that come with them: one statement where the engine can, or several in this order. */
  insertWith(insertion: Insertion, following: FollowingRows): readonly Sql[];
  /** Follows a column of text: true where it is one of these. Its text is the same however many there are, so it is prepared once. */
  anyOf(values: readonly string[]): Sql;
  /**
   * A condition on this table's rows that is true until the query timeout is over, and then ends the statement. It looks at the
   * clock for every row, which costs as much as reading one, or for some of many. Undefined where the engine itself ends a
   * statement that takes too long.
   */
  isInTime(alias: Sql, looks: 'for every row' | 'for some'): Sql | undefined;
  readonly json: JsonWriter;
  /** Ends a SELECT whose row the work is going to change. */
  readonly forUpdate: Sql;
  /** Ends a SELECT whose row the work is going to delete: nobody may begin to refer to it meanwhile. */
  readonly forDelete: Sql;
  /** Ends a SELECT of rows that the work is going to refer to: they stay until it is over. */
  readonly forReference: Sql;
  /** Ends a SELECT of rows that the work is going to take away, leaving out those that another work is changing. */
  readonly skipLocked: Sql;
}

/** Rows for a table that counts positions; they are given them in their order. */
export interface Insertion {
  /** The table. */
  readonly from: Sql;
  /** Of one row each, and of one text. */
  readonly inserts: readonly Sql[];
  /** What those that come with them take from them beside their positions. */
  readonly columns: Sql;
}

/** Rows for another table, each made of an inserted one and of values. */
export interface FollowingRows {
  /** As it stands before SELECT. */
  readonly into: Sql;
  /** A row, of columns of `inserted` and of `given`. */
  readonly row: Sql;
  /** The names of the values in `given`. */
  readonly columns: readonly Sql[];
  readonly runs: readonly FollowingRun[];
}

/** One row with each of some neighbours, from the first to the last: their places, the first of all being 0. */
export interface FollowingRun {
  readonly first: number;
  readonly last: number;
  readonly values: PlainTuple;
}

/** How an engine writes rows as JSON by itself: a row of them costs one value instead of one for each column. */
export interface JsonWriter {
  /** The JSON text of what a column holds; `ofNothing` is that of no JSON, or of an empty one. */
  value(kind: 'text' | 'number' | 'bool' | 'json', column: Sql, ofNothing: string): Sql;
  /** The texts one after the other. */
  concat(parts: readonly Sql[]): Sql;
}

export type InternalTable =
  | '$collection'
  | '$secret'
  | '$event'
  | '$endpoint'
  | '$delivery'
  | '$attempt'
  | '$idempotency'
  | '$api_key'
  | '$audit'
  | '$setup_token'
  | '$instance'
  | '$instance_setting'
  | '$log'
  | '$setting';

export interface Reader {
  readonly names: Names;
  /** All rows as objects by column name. */
  all(statement: Sql): Promise<Row[]>;
  /** The first row, or undefined. */
  get(statement: Sql): Promise<Row | undefined>;
  /** All rows as arrays in the order of the selected columns: for the paths where every microsecond is a client waiting. */
  tuples(statement: Sql): Promise<Tuple[]>;
  /**
   * As `tuples`, of a question that a client has put together: refused as bad_request when its rows are too much to be held. When it
   * may have to look at every row it ends with a QueryTimeout when the query timeout is over. On SQLite its conditions see to that
   * (`names.isInTime`); on PostgreSQL a question inside a transaction has the time that all its statements have.
   */
  search(statement: Sql, options?: SearchOptions): Promise<Tuple[]>;
}

export interface SearchOptions {
  /** Whether its rows are found without a search, so that nobody has to look at the clock. */
  readonly isQuick?: boolean;
  /** Whether they are few and hold nothing but numbers, so that nobody has to look at their size. */
  readonly isNarrow?: boolean;
}

/** The brand keeps TypeScript from accepting a Database where a Transaction is asked for: appending an event needs one. */
export interface Transaction extends Reader {
  readonly isTransaction: true;
  /** Runs a statement; resolves to the number of changed rows. */
  run(statement: Sql): Promise<number>;
  /**
   * Inserts rows in their order, by what the engine has for many of them. `into` is a table and its columns, as they stand behind
   * INSERT INTO; there is a row at least, and each has as many values. Not for rows of which some may be refused: those before them may stay or not.
   */
  insertRows(into: Sql, rows: readonly PlainTuple[]): Promise<void>;
  /**
   * Gives a row to be inserted with those of other works where works share a transaction, and with others of its own work where that
   * says that it gives many (`isGathering`). Where one statement comes after the other, or a work gives many, that is at the end, or
   * before a statement that names one of the tables; elsewhere it is behind all that was asked for before.
   */
  gather<Row>(gathering: Gathering<Row>, row: Row): Promise<void>;
  /**
   * Takes steps in this order, without waiting between them for answers where the engine can send ahead: a round trip for all
   * of them instead of one for each. No step may need what an earlier one resolves to. Rejects with the first step's error.
   */
  inOrder(steps: readonly (() => Promise<unknown>)[]): Promise<void>;
  /** Called after the commit, in order, before the work's promise resolves. Must not throw; lost when the process dies. */
  afterCommit(callback: () => void): void;
}

/** How rows are inserted many at once: those that are given with one and the same object of these. */
export interface Gathering<Row> {
  /** Those that hold the rows, and what belongs to them. */
  readonly tables: readonly InternalTable[];
  /** Of what a row holds, about. */
  readonly bytesOf: (row: Row) => number;
  /** Inserts them in their order: all, or none when it throws. The transaction may be another one than that of the works. */
  readonly write: (tx: Transaction, rows: readonly Row[]) => Promise<void>;
}

export type Row = Readonly<Record<string, SqlValue>>;
export type Tuple = readonly SqlValue[];
export type PlainTuple = readonly (string | number | null)[];
