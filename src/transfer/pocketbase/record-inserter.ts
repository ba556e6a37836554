import type { Collection } from '../../collections/collection.ts';
import type { IndexDefinition } from '../../collections/index-definition.ts';
import { conditionOperators, indexedField } from '../../collections/index-sql.ts';
import { fieldType } from '../../fields/field-types.ts';
import { type Field, fieldColumn, hasColumn } from '../../fields/field.ts';
import { toText } from '../../fields/option-reader.ts';
import { identifier, joinSql, sql, type Sql } from '../../sql/sql.ts';
import type { Names, PlainTuple, Transaction } from '../../storage/database.ts';
import type { ForeignSqlite } from '../../storage/sqlite/foreign-sqlite.ts';
import type { Omissions } from './omissions.ts';
import type { PlannedCollection } from './plan-import.ts';
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
    this.#scope = [...names.instance.value.values.map(String), collection.id];
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

  /** Has two statements in flight: while the database runs one, the next is queued there and a third is prepared here. */
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
  return sql`${names.table('$secret')} (${names.instance.column}collection, record, name, value)`;
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

/**
 * Reports records of the source that are equal under a unique index, which the source itself need not enforce: an import would stop
 * at them. Runs one query per index on the values as stored, so two notations of the same date are not found.
 */
export function reportDuplicates(
  database: ForeignSqlite,
  { source, collection }: PlannedCollection,
  omissions: Omissions,
): void {
  const columnNames = database.columnsOf(source.name) ?? [];
  for (const index of [byId, ...collection.indexes.filter(({ isUnique }) => isUnique)]) {
    const fields = index.columns.map(({ name }) => indexedField(collection, name));
    // Token keys are stored with the secrets, which have no such index.
    if (!fields.every(hasColumn)) continue;
    const query = duplicateQuery(collection, index, columnNames);
    for (const [id] of database.equalRows(source.name, query))
      omissions.add({
        kind: 'to look at',
        of: collection.name,
        what: fields.map(({ name }) => name).join(', '),
        why: 'Several records are equal in this, of which a unique index admits one: an import would stop.',
        record: toText(id ?? ''),
      });
  }
}

const byId: Pick<IndexDefinition, 'columns' | 'where'> = {
  columns: [{ name: 'id', isNocase: false, isDescending: false }],
  where: [],
};

function duplicateQuery(
  collection: Collection,
  { columns, where }: Pick<IndexDefinition, 'columns' | 'where'>,
  columnNames: readonly string[],
): Parameters<ForeignSqlite['equalRows']>[1] {
  const valueOf = (name: string): Sql => valueSql(indexedField(collection, name), columnNames);
  const keys = columns.map(({ name, isNocase }) => {
    const isText = ['text', 'json'].includes(fieldColumn(indexedField(collection, name)) ?? '');
    return sql`${valueOf(name)} COLLATE ${isNocase && isText ? sql`NOCASE` : sql`BINARY`}`;
  });
  const conditions = where.map(
    ({ column, operator, value }) => sql`${valueOf(column)} ${conditionOperators[operator]} ${value}`,
  );
  const present = columns.map(({ name }) => sql`${valueOf(name)} IS NOT NULL`);
  const names = [...columns.map(({ name }) => name), ...where.map(({ column }) => column)];
  return {
    columns: names.filter((name) => columnNames.includes(name)),
    keys,
    where: [...conditions, ...present],
  };
}

/** Replaces NULL by the empty value of the field's type. JSON has none: its NULL equals nothing. */
function valueSql(field: Field, columnNames: readonly string[]): Sql {
  // Every row has an id. Without coalesce the source's index can be used.
  if (field.name === 'id') return identifier('id');
  const column = columnNames.includes(field.name) ? identifier(field.name) : sql`NULL`;
  return sql`coalesce(${column}, ${fieldType(field).zero(field.options)})`;
}
