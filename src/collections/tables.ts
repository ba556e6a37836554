import { assert, unreachable } from '../base/assert.ts';
import { fieldType } from '../fields/field-types.ts';
import { type Field, fieldColumn, hasColumn } from '../fields/field.ts';
import { identifier, joinSql, literal, sql, type Sql } from '../sql/sql.ts';
import type { Database, Names, Reader, Transaction } from '../storage/database.ts';
import { UniqueViolation } from '../storage/engine-errors.ts';
import type { Collection } from './collection.ts';
import { isIdentityIndex } from './index-definition.ts';
import { createdIndexSql, foldedIndexSql, indexSql } from './index-sql.ts';

/**
 * Creates the table of a collection. Later changes keep the data of every field that is still there: a field is the same field as
 * long as its id is, whatever its name.
 */
export async function createTable(tx: Transaction, collection: Collection, fill?: Fill): Promise<void> {
  const { names } = tx;
  const table = names.collectionTable(collection.name);
  const fields = collection.fields.filter((field) => field.name !== 'id' && hasColumn(field));
  const columns = [names.tables.hiddenColumns(), ...fields.map((field) => columnDefinition(field, names))];
  await tx.run(sql`CREATE TABLE ${table} (${joinSql(columns, ', ')})${names.tables.end}`);
  const keys = names.tables.addedKeys(collection.id);
  // On PostgreSQL, building the indexes after a load halves its cost. SQLite would sort all of their entries in memory.
  if (keys !== undefined) {
    await fill?.();
    await tx.run(sql`ALTER TABLE ${table} ${keys}`);
  }
  for (const { statement } of indexesOf(collection, names)) await tx.run(statement);
  if (keys === undefined) await fill?.();
}

/** Inserts the records that a table begins with, in the same transaction. */
export type Fill = () => Promise<void>;

export async function dropTable(tx: Transaction, name: string): Promise<void> {
  await tx.run(sql`DROP TABLE ${tx.names.collectionTable(name)}`);
}

export interface TableChange {
  readonly before: Collection;
  readonly after: Collection;
}

/**
 * Alters several tables at once, because names may pass from one to another. Indexes that change, or whose columns do, are
 * dropped first and created last: a column that an index uses can be neither dropped nor reshaped. The other indexes stay, or
 * every change of a rule would build them again. Throws EqualRecords.
 */
export async function alterTables(tx: Transaction, changes: readonly TableChange[]): Promise<void> {
  const { names } = tx;
  const indexes = changes.map((change) => changedIndexes(change, names));
  for (const { gone } of indexes)
    for (const name of gone) await tx.run(sql`DROP INDEX IF EXISTS ${names.collectionTable(name)}`);
  const renamed = changes.filter(({ before, after }) => before.name !== after.name);
  // By way of a third name: the new one may still belong to another table, and to SQLite names that differ only in case are the
  // same.
  for (const { before, after } of renamed) await renameTable(tx, before.name, `$renaming_${after.id}`);
  for (const { after } of renamed) await renameTable(tx, `$renaming_${after.id}`, after.name);
  for (const { before, after } of changes) await alterColumns(tx, before, after);
  for (const { collection, made } of indexes)
    for (const index of made) await makeIndex(tx, collection, index);
}

async function makeIndex(tx: Transaction, collection: Collection, index: TableIndex): Promise<void> {
  try {
    await tx.run(index.statement);
  } catch (error) {
    throw error instanceof UniqueViolation ? new EqualRecords(collection, index.name, error) : error;
  }
}

interface ChangedIndexes {
  /** The collection with its new definition. */
  readonly collection: Collection;
  /** Names of indexes to drop. */
  readonly gone: readonly string[];
  readonly made: readonly TableIndex[];
}

function changedIndexes({ before, after }: TableChange, names: Names): ChangedIndexes {
  // With the new name of the table, so that a renamed table does not make all statements differ.
  const old = indexesOf({ ...before, name: after.name }, names);
  const now = indexesOf(after, names);
  const isLasting = (one: TableIndex, other: TableIndex): boolean =>
    one.name === other.name &&
    one.statement.text === other.statement.text &&
    one.columns.every((column) => columnOf(before, column) === columnOf(after, column));
  return {
    collection: after,
    gone: old.filter((one) => !now.some((other) => isLasting(one, other))).map(({ name }) => name),
    made: now.filter((one) => !old.some((other) => isLasting(other, one))),
  };
}

async function renameTable(tx: Transaction, from: string, to: string): Promise<void> {
  await tx.run(sql`ALTER TABLE ${tx.names.collectionTable(from)} RENAME TO ${tx.names.bareName(to)}`);
}

async function alterColumns(tx: Transaction, before: Collection, after: Collection): Promise<void> {
  const { names } = tx;
  const table = names.collectionTable(after.name);
  const fields = after.fields.filter(hasColumn);
  const wasById = new Map(before.fields.map((field) => [field.id, field]));
  const isById = new Map(fields.map((field) => [field.id, field]));
  for (const { id, name } of before.fields.filter(hasColumn)) {
    if (!isById.has(id)) await tx.run(sql`ALTER TABLE ${table} DROP COLUMN ${names.column(name)}`);
  }
  const renamed = fields.filter((field) => (wasById.get(field.id)?.name ?? field.name) !== field.name);
  // By way of temporary names, so that two fields may swap theirs.
  for (const [at, field] of renamed.entries()) {
    const old = names.column(wasById.get(field.id)?.name ?? field.name);
    await tx.run(sql`ALTER TABLE ${table} RENAME COLUMN ${old} TO ${passingColumn(names, at)}`);
  }
  for (const [at, { name }] of renamed.entries()) {
    const passing = passingColumn(names, at);
    await tx.run(sql`ALTER TABLE ${table} RENAME COLUMN ${passing} TO ${names.column(name)}`);
  }
  for (const field of fields) {
    const was = wasById.get(field.id);
    if (was === undefined)
      await tx.run(sql`ALTER TABLE ${table} ADD COLUMN ${columnDefinition(field, names)}`);
    else if (fieldColumn(was) !== fieldColumn(field)) await reshapeColumn(tx, table, field);
  }
}

/** Returns a temporary name for a column. By number: ids of fields may differ only in case, which SQLite ignores. */
function passingColumn(names: Names, at: number): Sql {
  return names.column(`$renaming_${at}`);
}

/**
 * Rewrites the column of a select or relation that becomes multiple or single: '' and 'a' ⇄ [] and ["a"]. Of several values the
 * last one stays.
 */
async function reshapeColumn(tx: Transaction, table: Sql, field: Field): Promise<void> {
  const { names } = tx;
  const name = names.column(field.name);
  const passing = passingColumn(names, 0);
  await tx.run(sql`ALTER TABLE ${table} RENAME COLUMN ${name} TO ${passing}`);
  await tx.run(sql`ALTER TABLE ${table} ADD COLUMN ${columnDefinition(field, names)}`);
  await tx.run(sql`UPDATE ${table} SET ${name} = ${reshaped(passing, field, names)}`);
  await tx.run(sql`ALTER TABLE ${table} DROP COLUMN ${passing}`);
}

function reshaped(column: Sql, field: Field, { dialect }: Names): Sql {
  if (fieldColumn(field) === 'json')
    return sql`CASE ${column} WHEN '' THEN '[]' ELSE ${dialect.listOf(column)} END`;
  return sql`coalesce(${dialect.lastOf(column)}, '')`;
}

/** Returns a text that changes when the column of this name becomes another one, by its kind or its field. */
function columnOf({ fields }: Collection, name: string): string | undefined {
  const field = fields.find((candidate) => candidate.name === name);
  return field === undefined ? undefined : `${fieldColumn(field)} ${field.id}`;
}

interface TableIndex {
  readonly name: string;
  readonly columns: readonly string[];
  readonly statement: Sql;
}

function indexesOf(collection: Collection, names: Names): readonly TableIndex[] {
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
  const wanted = collections.flatMap((collection) => foldedIndexes(collection, names));
  if ((await missingOf(database, wanted)).length === 0) return;
  await database.write(
    async (tx) => {
      for (const { statement } of await missingOf(tx, wanted)) await tx.run(statement);
    },
    { isExclusive: true },
  );
}

async function missingOf(reader: Reader, wanted: readonly TableIndex[]): Promise<readonly TableIndex[]> {
  const rows = await reader.tuples(reader.names.indexNames);
  const present = new Set(rows.map(([name]) => identifier(String(name)).text));
  return wanted.filter(({ name }) => !present.has(reader.names.bareName(name).text));
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
  return sql`${names.column(field.name)} ${columnType(field, names)}`;
}

/** Returns the type and default of a field's column. Zero values are stored, not null; only a json field knows null. */
function columnType(field: Field, { dialect }: Names): Sql {
  const kind = fieldColumn(field);
  assert(kind !== undefined, `the field ${field.name} has a column`);
  const type = dialect.columnType(kind);
  switch (kind) {
    case 'text':
      return sql`${type} NOT NULL DEFAULT ''`;
    case 'number':
    case 'bool':
      return sql`${type} NOT NULL DEFAULT 0`;
    case 'json':
      return field.type === 'json' ? type : sql`${type} NOT NULL DEFAULT ${zeroOf(field)}`;
    default:
      return unreachable(kind);
  }
}

/** Returns the default of a column of kind `json`. Zero values are texts there, except for json fields, whose columns have no default. */
function zeroOf(field: Field): Sql {
  return literal(String(fieldType(field).zero(field.options)));
}

/** A unique index cannot be created because existing records have equal values. */
export class EqualRecords extends UniqueViolation {
  /** The collection as the refused change would have made it. */
  readonly collection: Collection;
  readonly indexName: string;

  constructor(collection: Collection, indexName: string, cause: UniqueViolation) {
    super(cause.columns, cause.index, cause);
    this.collection = collection;
    this.indexName = indexName;
  }
}
