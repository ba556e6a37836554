import { assert } from '../../base/assert.ts';
import type { Sql } from '../../sql/sql.ts';
import { type BulkInsert, type Row, type SearchOptions, type Transaction, type Tuple } from '../database.ts';
import type { BulkInserts } from '../bulk-inserts.ts';
import { sqliteNames } from './sqlite-names.ts';
import type { WriteSearches } from './write-searches.ts';

/** What runs the statements of a transaction: a connection, or one in another thread, which answers later. */
export interface SqliteWriter {
  all(statement: Sql): Row[] | Promise<Row[]>;
  get(statement: Sql): Row | undefined | Promise<Row | undefined>;
  tuples(statement: Sql): Tuple[] | Promise<Tuple[]>;
  search(
    statement: Sql,
    options?: SearchOptions & { readonly budgetMs?: number },
  ): Tuple[] | Promise<Tuple[]>;
  run(statement: Sql): number | Promise<number>;
  insertRows(into: Sql, rows: readonly Tuple[]): void | Promise<void>;
  /** Lets the event loop turn. Absent where a work is over before it does. */
  pause?(): Promise<void>;
}

/** The `tx` of one work of a group. */
export class SqliteTransaction implements Transaction {
  readonly isTransaction = true;
  readonly names = sqliteNames;
  readonly callbacks: (() => void)[] = [];
  /** Whether a statement that may have changed something has succeeded; a statement that failed has changed nothing. */
  hasWritten = false;
  #connection: SqliteWriter | undefined;
  readonly #bulkInserts: BulkInserts;
  readonly #searches: WriteSearches | undefined;

  /** `searches` is absent where another thread runs the searches: they block nothing. */
  constructor(connection: SqliteWriter, bulkInserts: BulkInserts, searches?: WriteSearches) {
    this.#connection = connection;
    this.#bulkInserts = bulkInserts;
    this.#searches = searches;
  }

  async all(statement: Sql): Promise<Row[]> {
    if (this.#bulkInserts.affects(statement)) await this.flushRows();
    return this.#live().all(statement);
  }

  async get(statement: Sql): Promise<Row | undefined> {
    if (this.#bulkInserts.affects(statement)) await this.flushRows();
    return this.#live().get(statement);
  }

  async search(statement: Sql, options: SearchOptions = {}): Promise<Tuple[]> {
    if (this.#bulkInserts.affects(statement)) await this.flushRows();
    const connection = this.#live();
    if (options.isExempt === true || this.#searches === undefined)
      return connection.search(statement, options);
    return this.#searches.run(statement.text, (budgetMs) =>
      connection.search(statement, { ...options, budgetMs }),
    );
  }

  async tuples(statement: Sql): Promise<Tuple[]> {
    if (this.#bulkInserts.affects(statement)) await this.flushRows();
    return this.#live().tuples(statement);
  }

  async run(statement: Sql): Promise<number> {
    if (this.#bulkInserts.affects(statement)) await this.flushRows();
    const changed = this.#live().run(statement);
    this.hasWritten = true;
    return changed;
  }

  async returning(statement: Sql): Promise<Tuple[]> {
    const rows = await this.tuples(statement);
    this.hasWritten = true;
    return rows;
  }

  async insertRows(into: Sql, rows: readonly Tuple[]): Promise<void> {
    if (this.#bulkInserts.affects(into)) await this.flushRows();
    // Set first: a row that fails leaves the rows before it.
    this.hasWritten = true;
    await this.#live().insertRows(into, rows);
  }

  async insertLater<Item>(bulkInsert: BulkInsert<Item>, row: Item): Promise<void> {
    this.#live();
    this.hasWritten = true;
    this.#bulkInserts.add(bulkInsert, row);
    if (this.#bulkInserts.isFull) await this.flushRows();
  }

  /** Also writes the rows of other works of the group: if one is refused, all are lost, and the whole group has to be run again. */
  flushRows(): Promise<void> {
    this.hasWritten = true;
    return this.#bulkInserts.flush(this);
  }

  async inOrder(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
    for (const step of steps) await step();
  }

  async pause(): Promise<void> {
    await this.#live().pause?.();
  }

  afterCommit(callback: () => void): void {
    this.callbacks.push(callback);
  }

  end(): void {
    this.#connection = undefined;
  }

  #live(): SqliteWriter {
    assert(this.#connection, 'a transaction was used after it had ended');
    return this.#connection;
  }
}
