import { assert } from '../../base/assert.ts';
import type { Sql } from '../../sql/sql.ts';
import {
  type BulkInsert,
  type PlainTuple,
  type Row,
  type SearchOptions,
  type Transaction,
  type Tuple,
} from '../database.ts';
import type { BulkInserts } from '../bulk-inserts.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import { sqliteNames } from './sqlite-names.ts';
import type { WriteSearches } from './write-searches.ts';

/** The `tx` that one work of a group is given. */
export class SqliteTransaction implements Transaction {
  readonly isTransaction = true;
  readonly names = sqliteNames;
  readonly callbacks: (() => void)[] = [];
  /** Whether a statement that may have changed something has succeeded; a statement that failed has changed nothing. */
  hasWritten = false;
  #connection: SqliteConnection | undefined;
  readonly #gathered: BulkInserts;
  readonly #searches: WriteSearches;

  constructor(connection: SqliteConnection, gathered: BulkInserts, searches: WriteSearches) {
    this.#connection = connection;
    this.#gathered = gathered;
    this.#searches = searches;
  }

  async all(statement: Sql): Promise<Row[]> {
    if (this.#gathered.concern(statement)) await this.writeGathered();
    return this.#live().all(statement);
  }

  async get(statement: Sql): Promise<Row | undefined> {
    if (this.#gathered.concern(statement)) await this.writeGathered();
    return this.#live().get(statement);
  }

  async search(statement: Sql, options: SearchOptions = {}): Promise<Tuple[]> {
    if (this.#gathered.concern(statement)) await this.writeGathered();
    const connection = this.#live();
    if (options.isExempt === true) return connection.search(statement, options);
    return this.#searches.run(statement.text, (budgetMs) =>
      connection.search(statement, { ...options, budgetMs }),
    );
  }

  async tuples(statement: Sql): Promise<Tuple[]> {
    if (this.#gathered.concern(statement)) await this.writeGathered();
    return this.#live().tuples(statement);
  }

  async run(statement: Sql): Promise<number> {
    if (this.#gathered.concern(statement)) await this.writeGathered();
    const changed = this.#live().run(statement);
    this.hasWritten = true;
    return changed;
  }

  async returning(statement: Sql): Promise<Tuple[]> {
    const rows = await this.tuples(statement);
    this.hasWritten = true;
    return rows;
  }

  async insertRows(into: Sql, rows: readonly PlainTuple[]): Promise<void> {
    if (this.#gathered.concern(into)) await this.writeGathered();
    // Set first: a row that fails leaves the rows before it.
    this.hasWritten = true;
    this.#live().insertRows(into, rows);
  }

  async insertLater<Given>(gathering: BulkInsert<Given>, row: Given): Promise<void> {
    this.#live();
    this.hasWritten = true;
    this.#gathered.add(gathering, row);
    if (this.#gathered.isFull) await this.writeGathered();
  }

  /** Also writes the rows of other works of the group: if one is refused, all are lost, and the whole group has to be run again. */
  writeGathered(): Promise<void> {
    this.hasWritten = true;
    return this.#gathered.write(this);
  }

  async inOrder(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
    for (const step of steps) await step();
  }

  afterCommit(callback: () => void): void {
    this.callbacks.push(callback);
  }

  end(): void {
    this.#connection = undefined;
  }

  #live(): SqliteConnection {
    assert(this.#connection, 'a transaction was used after it had ended');
    return this.#connection;
  }
}
