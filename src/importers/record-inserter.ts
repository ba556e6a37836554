import type { Collection } from '../collections/collection.ts';
import { hasColumn } from '../fields/field.ts';
import { joinSql, sql, withValues, type Sql, type SqlValue } from '../sql/sql.ts';
import type { Names, Transaction } from '../storage/database.ts';
import type { ImportedRecord } from './record-reader.ts';

/** Values in one statement: a third of what PostgreSQL takes, two thirds of what SQLite does. */
const valuesMax = 20_000;
/** More of them gain nothing. */
const rowsMax = 200;
/** Of all their values: articles with pictures inside would otherwise fill the memory. */
const charactersMax = 4 * 1024 * 1024;

/** Inserts records of one collection, many with each statement, and tells nobody of them. */
export class RecordInserter {
  readonly #tx: Transaction;
  readonly #collection: Collection;
  readonly #records: Rows;
  readonly #secrets: Rows;
  /** The last two statements, of which the first is waited for before the next is sent. */
  #sent: readonly [Promise<unknown>, Promise<unknown>] = [Promise.resolve(), Promise.resolve()];

  constructor(tx: Transaction, collection: Collection) {
    this.#tx = tx;
    this.#collection = collection;
    const { names } = tx;
    const fields = collection.fields.filter(hasColumn).map(({ name }) => names.column(name));
    this.#records = new Rows(
      sql`INSERT INTO ${names.collectionTable(collection.name)} ("$revision", ${joinSql(fields, ', ')})`,
      { before: sql`1, `, width: fields.length },
    );
    this.#secrets = new Rows(secretsHead(names), { before: names.scopeValue, width: 4 });
  }

  async add({ id, values, secrets }: ImportedRecord): Promise<void> {
    if (this.#records.add(values)) await this.#send(this.#records);
    for (const [name, value] of secrets)
      if (this.#secrets.add([this.#collection.id, id, name, value])) await this.#send(this.#secrets);
  }

  /** Inserts what is left. */
  async end(): Promise<void> {
    for (const rows of [this.#records, this.#secrets]) if (!rows.isEmpty) await this.#send(rows);
    await Promise.all(this.#sent);
  }

  /** While the database works on one statement the next lies there, and one more is put together. */
  async #send(rows: Rows): Promise<void> {
    const [first, second] = this.#sent;
    await first;
    const sent = this.#tx.run(rows.take());
    // Told of when it is waited for.
    sent.catch(() => undefined);
    this.#sent = [second, sent];
  }
}

function secretsHead(names: Names): Sql {
  return sql`INSERT INTO ${names.table('$secret')} (${names.scopeColumn}collection, record, name, value)`;
}

/** Rows that wait for the statement that inserts them. */
class Rows {
  readonly #head: Sql;
  readonly #before: Sql;
  readonly #width: number;
  readonly #rowsMax: number;
  readonly #statements = new Map<number, Sql>();
  #values: SqlValue[] = [];
  #count = 0;
  #characters = 0;

  constructor(head: Sql, { before, width }: { readonly before: Sql; readonly width: number }) {
    this.#head = head;
    this.#before = before;
    this.#width = width;
    this.#rowsMax = Math.max(1, Math.min(rowsMax, Math.floor(valuesMax / (width + 1))));
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Whether there are as many now as one statement takes. */
  add(values: readonly SqlValue[]): boolean {
    for (const value of values) {
      this.#values.push(value);
      if (typeof value === 'string') this.#characters += value.length;
    }
    this.#count += 1;
    return this.#count === this.#rowsMax || this.#characters > charactersMax;
  }

  take(): Sql {
    const statement = this.#statementOf(this.#count);
    const values = this.#values;
    this.#values = [];
    this.#count = 0;
    this.#characters = 0;
    return withValues(statement, interleaved(this.#before.values, values, this.#width));
  }

  #statementOf(count: number): Sql {
    let statement = this.#statements.get(count);
    if (statement === undefined) {
      const places = joinSql(
        Array.from({ length: this.#width }, () => sql`${null}`),
        ', ',
      );
      const row = sql`(${this.#before}${places})`;
      statement = sql`${this.#head} VALUES ${joinSql(
        Array.from({ length: count }, () => row),
        ', ',
      )}`;
      this.#statements.set(count, statement);
    }
    return statement;
  }
}

/** Each row begins with the same values, where there are any. */
function interleaved(
  first: readonly SqlValue[],
  values: readonly SqlValue[],
  width: number,
): readonly SqlValue[] {
  if (first.length === 0) return values;
  const all: SqlValue[] = [];
  for (let at = 0; at < values.length; at += width) all.push(...first, ...values.slice(at, at + width));
  return all;
}
