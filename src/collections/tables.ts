import { fieldColumn, hasColumn, type Field } from '../fields/field.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Names, Transaction } from '../storage/database.ts';
import type { Collection } from './collection.ts';
import { columnDefinition, hiddenColumns } from './column-definition.ts';
import { createdIndexSql, indexSql } from './index-sql.ts';

/**
 * Makes the tables be what the definitions say. Each change keeps the data of every field that is still there: a field is
 * the same field as long as its id is, whatever its name.
 */
export async function createTable(tx: Transaction, collection: Collection): Promise<void> {
  const { names } = tx;
  const fields = collection.fields.filter((field) => field.name !== 'id' && hasColumn(field));
  const columns = [hiddenColumns(names.engine), ...fields.map((field) => columnDefinition(field, names))];
  const strict = names.engine === 'sqlite' ? sql` STRICT` : sql``;
  await tx.run(
    sql`CREATE TABLE ${names.collectionTable(collection.name)} (${joinSql(columns, ', ')})${strict}`,
  );
  await createIndexes(tx, collection);
}

export async function dropTable(tx: Transaction, collection: Collection): Promise<void> {
  await tx.run(sql`DROP TABLE ${tx.names.collectionTable(collection.name)}`);
}

/** Indexes go first and come back last, because a column that one of them uses can be neither dropped nor reshaped. */
export async function alterTable(tx: Transaction, before: Collection, after: Collection): Promise<void> {
  const { names } = tx;
  for (const { name } of before.indexes) await tx.run(sql`DROP INDEX ${names.collectionTable(name)}`);
  await tx.run(sql`DROP INDEX IF EXISTS ${names.collectionTable(createdIndexName(before))}`);
  if (before.name !== after.name) {
    // Through a third name: SQLite takes names that differ in case only for the same.
    const passing = `$renaming_${after.id}`;
    await renameTable(tx, before.name, passing);
    await renameTable(tx, passing, after.name);
  }
  await alterColumns(tx, before, after);
  await createIndexes(tx, after);
}

async function renameTable(tx: Transaction, from: string, to: string): Promise<void> {
  await tx.run(sql`ALTER TABLE ${tx.names.collectionTable(from)} RENAME TO ${tx.names.column(to)}`);
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
  // Through passing names, so that two fields may swap theirs.
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

/** By number: ids of fields may differ in nothing but case, which to SQLite is no difference. */
function passingColumn(names: Names, at: number): Sql {
  return names.column(`$renaming_${at}`);
}

/** A select or relation that becomes multiple or single: '' and 'a' ⇄ [] and ["a"], the last value wins. */
async function reshapeColumn(tx: Transaction, table: Sql, field: Field): Promise<void> {
  const { names } = tx;
  const name = names.column(field.name);
  const passing = passingColumn(names, 0);
  await tx.run(sql`ALTER TABLE ${table} RENAME COLUMN ${name} TO ${passing}`);
  await tx.run(sql`ALTER TABLE ${table} ADD COLUMN ${columnDefinition(field, names)}`);
  await tx.run(sql`UPDATE ${table} SET ${name} = ${reshaped(passing, field, names)}`);
  await tx.run(sql`ALTER TABLE ${table} DROP COLUMN ${passing}`);
}

function reshaped(column: Sql, field: Field, { engine }: Names): Sql {
  if (fieldColumn(field) === 'json') {
    const list = engine === 'sqlite' ? sql`json_array(${column})` : sql`json_build_array(${column})::text`;
    return sql`CASE ${column} WHEN '' THEN '[]' ELSE ${list} END`;
  }
  const last = engine === 'sqlite' ? sql`json_extract(${column}, '$[#-1]')` : sql`${column}::json ->> -1`;
  return sql`coalesce(${last}, '')`;
}

async function createIndexes(tx: Transaction, collection: Collection): Promise<void> {
  if (collection.fields.some((field) => field.name === 'created' && hasColumn(field)))
    await tx.run(createdIndexSql(collection, tx.names.column(createdIndexName(collection)), tx.names));
  for (const index of collection.indexes) await tx.run(indexSql(collection, index, tx.names));
}

function createdIndexName(collection: Collection): string {
  return `$created_${collection.id}`;
}
