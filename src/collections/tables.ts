import { assert, unreachable } from '../base/assert.ts';
import { fieldType } from '../fields/field-types.ts';
import { type Field, fieldColumn, hasColumn } from '../fields/field.ts';
import { identifier, joinSql, literal, sql, type Sql } from '../sql/sql.ts';
import type { Database, Names, Reader, Transaction } from '../storage/database.ts';
import type { Collection } from './collection.ts';
import { isIdentityIndex } from './index-definition.ts';
import { createdIndexSql, foldedIndexSql, indexSql } from './index-sql.ts';

/**
 * Creates the table of a collection. Later changes (alter-tables.ts) keep the data of every field that is still there: a field is the same
 * field as long as its id is, whatever its name.
 */
export async function createTable(tx: Transaction, collection: Collection, fill?: Fill): Promise<void> {
  const { names } = tx;
  const table = names.collectionTable(collection.name);
  await createBareTable(tx, collection.name, collection);
  const keys = names.tables.addedKeys(collection.id);
  // On PostgreSQL, building the indexes after a load halves its cost. SQLite would sort all of their entries in memory.
  if (keys !== undefined) {
    await fill?.();
    await tx.run(sql`ALTER TABLE ${table} ${keys}`);
  }
  for (const { statement } of indexesOf(collection, names)) await tx.run(statement);
  if (keys === undefined) await fill?.();
}

/** Creates the table of a collection under another name perhaps, without its indexes. */
export async function createBareTable(tx: Transaction, name: string, { fields }: Collection): Promise<void> {
  const { names } = tx;
  const own = fields.filter((field) => field.name !== 'id' && hasColumn(field));
  const columns = [names.tables.hiddenColumns(), ...own.map((field) => columnDefinition(field, names))];
  await tx.run(
    sql`CREATE TABLE ${names.collectionTable(name)} (${joinSql(columns, ', ')})${names.tables.end}`,
  );
}

/** Inserts the records that a table begins with, in the same transaction. */
export type Fill = () => Promise<void>;

export async function dropTable(tx: Transaction, name: string): Promise<void> {
  await tx.run(sql`DROP TABLE ${tx.names.collectionTable(name)}`);
}

export interface TableIndex {
  readonly name: string;
  readonly columns: readonly string[];
  readonly statement: Sql;
}

/** Returns the indexes of a table: those of the definition, and the service's own. */
export function indexesOf(collection: Collection, names: Names): readonly TableIndex[] {
  // Without indexes that are only shown: their field has no column.
  const columns = new Set(collection.fields.filter(hasColumn).map(({ name }) => name));
  const real = collection.indexes.filter((index) => index.columns.every(({ name }) => columns.has(name)));
  const defined = real.map((index) => ({
    name: index.name,
    columns: [...index.columns.map(({ name }) => name), ...index.where.map(({ column }) => column)],
    statement: indexSql(collection, index, names),
  }));
  const indexes = [...defined, ...foldedIndexes(collection, names)];
  if (!collection.fields.some((field) => field.name === 'created' && hasColumn(field))) return indexes;
  const name = createdIndexName(collection);
  const statement = createdIndexSql(collection, names.bareName(name), names);
  return [...indexes, { name, columns: ['created'], statement }];
}

/**
 * Creates the indexes of identities that are missing, as they are in collections that an earlier version has made or, on PostgreSQL, makes
 * on another node.
 */
export async function ensureFoldedIndexes(
  database: Database,
  collections: readonly Collection[],
): Promise<void> {
  const { names } = database;
  const indexes = collections.flatMap((collection) => foldedIndexes(collection, names));
  if ((await missingOf(database, indexes)).length === 0) return;
  await database.write(
    async (tx) => {
      for (const { statement } of await missingOf(tx, indexes)) await tx.run(statement);
    },
    { isExclusive: true },
  );
}

async function missingOf(reader: Reader, indexes: readonly TableIndex[]): Promise<readonly TableIndex[]> {
  const rows = await reader.tuples(reader.names.indexNames);
  const present = new Set(rows.map(([name]) => identifier(String(name)).text));
  return indexes.filter(({ name }) => !present.has(reader.names.bareName(name).text));
}

/** One for each field that identifies accounts, unless its unique index ignores letter case itself. */
function foldedIndexes(collection: Collection, names: Names): readonly TableIndex[] {
  if (collection.auth === undefined) return [];
  const identities = new Set(['email', ...collection.auth.passwordAuth.identityFields]);
  const isFolded = (name: string): boolean =>
    collection.indexes.some((index) => isIdentityIndex(index, name) && index.columns[0]?.isNocase === true);
  return collection.fields
    .filter((field) => identities.has(field.name) && fieldColumn(field) === 'text' && !isFolded(field.name))
    .map((field) => {
      const name = `$folded_${collection.id}_${field.id}`;
      const statement = foldedIndexSql(collection, field, { name: names.bareName(name), names });
      return { name, columns: [field.name], statement };
    });
}

function createdIndexName(collection: Collection): string {
  return `$created_${collection.id}`;
}

/** Returns the definition of a field's column: name, type and default. */
export function columnDefinition(field: Field, names: Names): Sql {
  const { type, zero } = columnParts(field, names);
  const end = zero === undefined ? sql`` : sql` NOT NULL DEFAULT ${zero}`;
  return sql`${names.column(field.name)} ${type}${end}`;
}

/** Returns the type of a field's column, and its default. Zero values are stored, not null; only a json field knows null. */
export function columnParts(
  field: Field,
  { dialect }: Names,
): { readonly type: Sql; readonly zero: Sql | undefined } {
  const kind = fieldColumn(field);
  assert(kind !== undefined, `the field ${field.name} has a column`);
  const type = dialect.columnType(kind);
  switch (kind) {
    case 'text':
      return { type, zero: sql`''` };
    case 'number':
    case 'bool':
      return { type, zero: sql`0` };
    case 'json':
      return { type, zero: field.type === 'json' ? undefined : zeroOf(field) };
    default:
      return unreachable(kind);
  }
}

/** Returns the default of a column of kind `json`. Zero values are texts there, except for json fields, whose columns have no default. */
function zeroOf(field: Field): Sql {
  return literal(String(fieldType(field).zero(field.options)));
}
