import { unreachable } from '../base/assert.ts';
import { fieldColumn, type Field } from '../fields/field.ts';
import type { ColumnKind } from '../fields/field-type.ts';
import { identifier, joinSql, literal, sql, type Sql } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';
import type { Collection } from './collection.ts';
import type { IndexDefinition } from './index-definition.ts';

/**
 * Makes the tables be what the definitions say. Each change keeps the data of every field that is still there: a field is
 * the same field as long as its id is, whatever its name.
 */
export async function createTable(tx: Transaction, collection: Collection): Promise<void> {
  const columns = collection.fields.filter((field) => field.name !== 'id').map(columnDefinition);
  const all = joinSql([sql`id TEXT NOT NULL UNIQUE, "$revision" INTEGER NOT NULL`, ...columns], ', ');
  // A position never comes back (AUTOINCREMENT): a reader that remembers one would take a new record for one it has seen.
  await tx.run(
    sql`CREATE TABLE ${identifier(collection.name)} ("$position" INTEGER PRIMARY KEY AUTOINCREMENT, ${all}) STRICT`,
  );
  await createIndexes(tx, collection);
}

export async function dropTable(tx: Transaction, collection: Collection): Promise<void> {
  await tx.run(sql`DROP TABLE ${identifier(collection.name)}`);
}

/** Indexes go first and come back last, because a column that one of them uses can be neither dropped nor reshaped. */
export async function alterTable(tx: Transaction, before: Collection, after: Collection): Promise<void> {
  for (const index of before.indexes) await tx.run(sql`DROP INDEX ${identifier(index.name)}`);
  await tx.run(sql`DROP INDEX IF EXISTS ${createdIndexName(before)}`);
  if (before.name !== after.name) {
    // Through a third name: the engine takes names that differ in case only for the same.
    const passing = identifier(`$renaming_${after.id}`);
    await tx.run(sql`ALTER TABLE ${identifier(before.name)} RENAME TO ${passing}`);
    await tx.run(sql`ALTER TABLE ${passing} RENAME TO ${identifier(after.name)}`);
  }
  await alterColumns(tx, before, after);
  await createIndexes(tx, after);
}

async function alterColumns(tx: Transaction, before: Collection, after: Collection): Promise<void> {
  const table = identifier(after.name);
  const wasById = new Map(before.fields.map((field) => [field.id, field]));
  const isById = new Map(after.fields.map((field) => [field.id, field]));
  for (const field of before.fields) {
    if (!isById.has(field.id)) await tx.run(sql`ALTER TABLE ${table} DROP COLUMN ${identifier(field.name)}`);
  }
  const renamed = after.fields.filter((field) => (wasById.get(field.id)?.name ?? field.name) !== field.name);
  // Through passing names, so that two fields may swap theirs.
  for (const [at, field] of renamed.entries()) {
    const old = identifier(wasById.get(field.id)?.name ?? field.name);
    await tx.run(sql`ALTER TABLE ${table} RENAME COLUMN ${old} TO ${passingColumn(at)}`);
  }
  for (const [at, field] of renamed.entries()) {
    await tx.run(sql`ALTER TABLE ${table} RENAME COLUMN ${passingColumn(at)} TO ${identifier(field.name)}`);
  }
  for (const field of after.fields) {
    const was = wasById.get(field.id);
    if (was === undefined) await tx.run(sql`ALTER TABLE ${table} ADD COLUMN ${columnDefinition(field)}`);
    else if (fieldColumn(was) !== fieldColumn(field)) await reshapeColumn(tx, table, field);
  }
}

/** By number: ids of fields may differ in nothing but case, which to the engine is no difference. */
function passingColumn(at: number): Sql {
  return identifier(`$renaming_${at}`);
}

/** A select that becomes multiple or single: '' and 'a' ⇄ [] and ["a"], the last value wins. */
async function reshapeColumn(tx: Transaction, table: Sql, field: Field): Promise<void> {
  const name = identifier(field.name);
  const passing = identifier(`$renaming_${field.id}`);
  await tx.run(sql`ALTER TABLE ${table} RENAME COLUMN ${name} TO ${passing}`);
  await tx.run(sql`ALTER TABLE ${table} ADD COLUMN ${columnDefinition(field)}`);
  const value =
    fieldColumn(field) === 'json'
      ? sql`CASE ${passing} WHEN '' THEN '[]' ELSE json_array(${passing}) END`
      : sql`coalesce(json_extract(${passing}, '$[#-1]'), '')`;
  await tx.run(sql`UPDATE ${table} SET ${name} = ${value}`);
  await tx.run(sql`ALTER TABLE ${table} DROP COLUMN ${passing}`);
}

async function createIndexes(tx: Transaction, collection: Collection): Promise<void> {
  if (collection.fields.some((field) => field.name === 'created')) {
    const table = identifier(collection.name);
    await tx.run(sql`CREATE INDEX ${createdIndexName(collection)} ON ${table} (created, "$position")`);
  }
  for (const index of collection.indexes) await createIndex(tx, collection, index);
}

async function createIndex(tx: Transaction, collection: Collection, index: IndexDefinition): Promise<void> {
  const columns = index.columns.map((column) => {
    const collation = column.isNocase ? sql` COLLATE NOCASE` : sql``;
    return sql`${identifier(column.name)}${collation}${column.isDescending ? sql` DESC` : sql``}`;
  });
  const on = sql`${identifier(index.name)} ON ${identifier(collection.name)} (${joinSql(columns, ', ')})`;
  const where = index.where.map((condition) => {
    const value = literal(condition.value);
    return sql`${identifier(condition.column)} ${operators[condition.operator]} ${value}`;
  });
  const condition = where.length === 0 ? sql`` : sql` WHERE ${joinSql(where, ' AND ')}`;
  await tx.run(
    index.isUnique ? sql`CREATE UNIQUE INDEX ${on}${condition}` : sql`CREATE INDEX ${on}${condition}`,
  );
}

const operators = {
  '=': sql`=`,
  '!=': sql`<>`,
  '<': sql`<`,
  '<=': sql`<=`,
  '>': sql`>`,
  '>=': sql`>=`,
} as const;

function createdIndexName(collection: Collection): Sql {
  return identifier(`$created_${collection.id}`);
}

function columnDefinition(field: Field): Sql {
  return sql`${identifier(field.name)} ${columnTypes(field)}`;
}

/** Zero values are stored, not null; only a json field knows null. REAL, because NUMERIC would turn 1e17 into an integer that no number of ours can hold. */
function columnTypes(field: Field): Sql {
  const kind: ColumnKind = fieldColumn(field);
  switch (kind) {
    case 'text':
      return sql`TEXT NOT NULL DEFAULT ''`;
    case 'number':
      return sql`REAL NOT NULL DEFAULT 0`;
    case 'bool':
      return sql`INTEGER NOT NULL DEFAULT 0`;
    case 'json':
      return field.type === 'json' ? sql`TEXT` : sql`TEXT NOT NULL DEFAULT '[]'`;
    default:
      return unreachable(kind);
  }
}
