import type { Collection } from '../collections/collection.ts';
import { hasColumn } from '../fields/field.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Names, PlainTuple, Transaction } from '../storage/database.ts';
import type { ImportedRecord } from './record-reader.ts';

/** Rows of one statement; more gain nothing. */
const rowsMax = 200;
/** Characters of all values of one statement: articles with embedded pictures would otherwise fill the memory. */
const charactersMax = 4 * 1024 * 1024;

/** Inserts records of one collection in batches, without events. */
export class RecordInserter {
  readonly #tx: Transaction;
  readonly #records: Rows;
  readonly #secrets: Rows;
  /** The values that each row of a secret begins with. */
  readonly #scope: PlainTuple;
  /** The last two statements sent. The older one is awaited before another is sent. */
  #sent: readonly [Promise<unknown>, Promise<unknown>] = [Promise.resolve(), Promise.resolve()];

  constructor(tx: Transaction, collection: Collection) {
    this.#tx = tx;
    const { names } = tx;
    const columns = collection.fields.filter(hasColumn).map(({ name }) => names.column(name));
    this.#records = new Rows(
      sql`${names.collectionTable(collection.name)} ("$revision", ${joinSql(columns, ', ')})`,
    );
    this.#secrets = new Rows(secretColumns(names));
    this.#scope = [...names.scopeValue.values.map(String), collection.id];
  }

  /** Adds a record. Returns a promise only when a batch is sent. */
  add({ id, values, secrets }: ImportedRecord): Promise<void> | undefined {
    this.#records.add([1, ...values]);
    for (const [name, value] of secrets) this.#secrets.add([...this.#scope, id, name, value]);
    return this.#records.isFull || this.#secrets.isFull ? this.#sendAll() : undefined;
  }

  /** Inserts what is left. */
  async end(): Promise<void> {
    await this.#sendAll();
    await Promise.all(this.#sent);
  }

  async #sendAll(): Promise<void> {
    for (const rows of [this.#records, this.#secrets]) if (!rows.isEmpty) await this.#send(rows);
  }

  /** Keeps two statements in flight: while the database runs one, the next is queued there and a third is prepared here. */
  async #send(rows: Rows): Promise<void> {
    const [first, second] = this.#sent;
    await first;
    const sent = this.#tx.insertRows(rows.into, rows.take());
    // A failure is thrown where the promise is awaited.
    sent.catch(() => undefined);
    this.#sent = [second, sent];
  }
}

function secretColumns(names: Names): Sql {
  return sql`${names.table('$secret')} (${names.scopeColumn}collection, record, name, value)`;
}

/** Rows that wait for the statement that inserts them. */
class Rows {
  readonly into: Sql;
  #rows: PlainTuple[] = [];
  #characters = 0;

  constructor(into: Sql) {
    this.into = into;
  }

  get isEmpty(): boolean {
    return this.#rows.length === 0;
  }

  /** True when there are enough rows for one statement. */
  get isFull(): boolean {
    return this.#rows.length >= rowsMax || this.#characters > charactersMax;
  }

  add(row: PlainTuple): void {
    this.#rows.push(row);
    for (const value of row) if (typeof value === 'string') this.#characters += value.length;
  }

  take(): readonly PlainTuple[] {
    const rows = this.#rows;
    this.#rows = [];
    this.#characters = 0;
    return rows;
  }
}
