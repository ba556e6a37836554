import { assert } from '../base/assert.ts';
import { type Field, fieldColumn, hasColumn } from '../fields/field.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Names, TableRebuilding, Transaction } from '../storage/database.ts';
import { UniqueViolation } from '../storage/engine-errors.ts';
import type { Collection } from './collection.ts';
import {
  columnDefinition,
  columnParts,
  createBareTable,
  createTable,
  dropTable,
  indexesOf,
  type TableIndex,
} from './tables.ts';

export interface TableChange {
  readonly before: Collection;
  readonly after: Collection;
}

/**
 * Alters several tables at once, because names may pass from one to another. However many fields of a table change, the number of
 * statements stays the same, except for a few added or renamed columns where the engine changes one at a time:
 *
 * - A table without records is dropped and created whole, where the engine cannot change all columns at once. That comes first and last:
 *   its name and those of its indexes are free in between.
 * - Indexes that change, or whose columns do, are dropped before their columns change and created afterwards: a column that an index uses
 *   can be neither dropped nor reshaped. The other indexes stay, or every change of a rule would build them again.
 * - Columns are changed in place, or the table is rebuilt: filled from the old one, which it then replaces.
 *
 * Throws EqualRecords.
 */
export async function alterTables(tx: Transaction, changes: readonly TableChange[]): Promise<void> {
  const { names } = tx;
  const plans: TablePlan[] = [];
  for (const change of changes) plans.push(await planChange(tx, change));
  const anew = plans.filter(({ kind }) => kind === 'anew');
  const others = plans.filter(({ kind }) => kind !== 'anew');
  for (const { before } of anew) await takeAway(tx, before);
  for (const { droppedIndexes } of others)
    for (const name of droppedIndexes) await tx.run(sql`DROP INDEX IF EXISTS ${names.collectionTable(name)}`);
  const renamed = others.filter(({ before, after }) => before.name !== after.name);
  // By way of a third name: the new one may still belong to another table, and to SQLite names that differ only in case are the
  // same.
  for (const { before, after } of renamed) await renameTable(tx, before.name, passingTable(after));
  for (const { after } of renamed) await renameTable(tx, passingTable(after), after.name);
  for (const plan of others) await alterColumns(tx, plan);
  for (const { after } of anew) await putBack(tx, after);
  for (const { after, createdIndexes } of others)
    for (const index of createdIndexes) await makeIndex(tx, after, index);
}

interface TablePlan extends TableChange {
  readonly kind: 'anew' | 'rebuilt' | 'in place';
  readonly columns: ColumnChanges;
  /** Names of indexes to drop. */
  readonly droppedIndexes: readonly string[];
  readonly createdIndexes: readonly TableIndex[];
}

interface ColumnChanges {
  readonly dropped: readonly Field[];
  readonly renamed: readonly { readonly before: Field; readonly after: Field }[];
  readonly added: readonly Field[];
  /** Select and relation fields that become multiple or single, and the like. */
  readonly reshaped: readonly Field[];
}

async function planChange(tx: Transaction, change: TableChange): Promise<TablePlan> {
  const { names } = tx;
  const columns = columnChanges(change);
  const indexes = changedIndexes(change, names);
  const hasChange = change.before.name !== change.after.name || sizeOf(columns) > 0;
  if (names.tables.rebuilding === undefined || !hasChange)
    return { ...change, ...indexes, columns, kind: 'in place' };
  const table = names.collectionTable(change.before.name);
  if ((await tx.get(sql`SELECT 1 FROM ${table} LIMIT 1`)) === undefined)
    return { ...change, columns, kind: 'anew', droppedIndexes: [], createdIndexes: [] };
  if (!isRebuilt(columns)) return { ...change, ...indexes, columns, kind: 'in place' };
  // With the old table all of its indexes go.
  const createdIndexes = indexesOf(change.after, names);
  return { ...change, columns, kind: 'rebuilt', droppedIndexes: [], createdIndexes };
}

/** Where columns change one by one, each change of this kind takes as long as reading the whole schema of the instance, and the table. */
const stepsMax = 4;

function isRebuilt({ dropped, renamed, added, reshaped }: ColumnChanges): boolean {
  return dropped.length + reshaped.length > 0 || renamed.length + added.length > stepsMax;
}

function sizeOf({ dropped, renamed, added, reshaped }: ColumnChanges): number {
  return dropped.length + renamed.length + added.length + reshaped.length;
}

function columnChanges({ before, after }: TableChange): ColumnChanges {
  const was = new Map(before.fields.map((field) => [field.id, field]));
  const fields = after.fields.filter(hasColumn);
  const ids = new Set(fields.map(({ id }) => id));
  const pairs = fields.flatMap((field) => {
    const old = was.get(field.id);
    return old === undefined ? [] : [{ before: old, after: field }];
  });
  return {
    dropped: before.fields.filter((field) => hasColumn(field) && !ids.has(field.id)),
    renamed: pairs.filter((pair) => pair.before.name !== pair.after.name),
    added: fields.filter(({ id }) => !was.has(id)),
    reshaped: pairs
      .filter((pair) => fieldColumn(pair.before) !== fieldColumn(pair.after))
      .map((pair) => pair.after),
  };
}

function changedIndexes(
  { before, after }: TableChange,
  names: Names,
): Pick<TablePlan, 'droppedIndexes' | 'createdIndexes'> {
  // With the new name of the table, so that a renamed table does not make all statements differ.
  const old = indexesOf({ ...before, name: after.name }, names);
  const now = indexesOf(after, names);
  const isLasting = (one: TableIndex, other: TableIndex): boolean =>
    one.name === other.name &&
    one.statement.text === other.statement.text &&
    one.columns.every((column) => columnOf(before, column) === columnOf(after, column));
  return {
    droppedIndexes: old.filter((one) => !now.some((other) => isLasting(one, other))).map(({ name }) => name),
    createdIndexes: now.filter((one) => !old.some((other) => isLasting(other, one))),
  };
}

/** Returns a text that changes when the column of this name becomes another one, by its kind or its field. */
function columnOf({ fields }: Collection, name: string): string | undefined {
  const field = fields.find((candidate) => candidate.name === name);
  return field === undefined ? undefined : `${fieldColumn(field)} ${field.id}`;
}

/** The name of a table on its way from one name to another. */
function passingTable({ id }: Collection): string {
  return `$renaming_${id}`;
}

async function renameTable(tx: Transaction, from: string, to: string): Promise<void> {
  await tx.run(sql`ALTER TABLE ${tx.names.collectionTable(from)} RENAME TO ${tx.names.bareName(to)}`);
}

/** Drops a table that is created again. Its positions go on. */
async function takeAway(tx: Transaction, before: Collection): Promise<void> {
  await tx.run(rebuildingOf(tx).movePositions(before.name, passingTable(before)));
  await dropTable(tx, before.name);
}

async function putBack(tx: Transaction, after: Collection): Promise<void> {
  await createTable(tx, after);
  await tx.run(rebuildingOf(tx).movePositions(passingTable(after), after.name));
}

function rebuildingOf({ names }: Transaction): TableRebuilding {
  assert(names.tables.rebuilding !== undefined, 'the engine rebuilds tables');
  return names.tables.rebuilding;
}

async function alterColumns(tx: Transaction, plan: TablePlan): Promise<void> {
  const { after, columns, kind } = plan;
  if (kind === 'rebuilt') return await rebuild(tx, plan);
  const { names } = tx;
  const { dropped, renamed, added, reshaped } = columns;
  const drops = dropped.map(({ name }) => sql`DROP COLUMN ${names.column(name)}`);
  const others = [
    ...added.map((field) => sql`ADD COLUMN ${columnDefinition(field, names)}`),
    ...reshaped.flatMap((field) => reshapeActions(field, names)),
  ];
  // A column may have the name of one that is dropped, or had another name before.
  if (renamed.length === 0) return await alterTable(tx, after, [...drops, ...others]);
  await alterTable(tx, after, drops);
  await renameColumns(tx, after, columns);
  await alterTable(tx, after, others);
}

async function alterTable(tx: Transaction, { name }: Collection, actions: readonly Sql[]): Promise<void> {
  const table = tx.names.collectionTable(name);
  const isAtOnce = tx.names.tables.rebuilding === undefined;
  const statements = isAtOnce && actions.length > 0 ? [joinSql(actions, ', ')] : actions;
  for (const statement of statements) await tx.run(sql`ALTER TABLE ${table} ${statement}`);
}

/** Names that another column takes are freed first, so that two fields may swap theirs. */
async function renameColumns(
  tx: Transaction,
  { name }: Collection,
  { renamed }: ColumnChanges,
): Promise<void> {
  const { names } = tx;
  const table = names.collectionTable(name);
  const newNames = new Set(renamed.map(({ after }) => after.name.toLowerCase()));
  // By number: ids of fields may differ only in case, which SQLite ignores.
  const steps = renamed.map((pair, at) => ({
    from: names.column(pair.before.name),
    passing: newNames.has(pair.before.name.toLowerCase()) ? names.column(`$renaming_${at}`) : undefined,
    to: names.column(pair.after.name),
  }));
  for (const { from, passing } of steps)
    if (passing !== undefined) await tx.run(sql`ALTER TABLE ${table} RENAME COLUMN ${from} TO ${passing}`);
  for (const { from, passing, to } of steps)
    await tx.run(sql`ALTER TABLE ${table} RENAME COLUMN ${passing ?? from} TO ${to}`);
}

/** Returns the actions that give a column another type, with its values. */
function reshapeActions(field: Field, names: Names): readonly Sql[] {
  const column = names.column(field.name);
  const { type, zero } = columnParts(field, names);
  return [
    sql`ALTER COLUMN ${column} DROP DEFAULT`,
    sql`ALTER COLUMN ${column} TYPE ${type} USING ${reshaped(column, field, names)}`,
    ...(zero === undefined ? [] : [sql`ALTER COLUMN ${column} SET DEFAULT ${zero}`]),
  ];
}

/** Makes a table with the new columns, fills it from the old one and puts it in its place. */
async function rebuild(tx: Transaction, { before, after, columns }: TablePlan): Promise<void> {
  const { names } = tx;
  const [from, to] = [after.name, passingTable(after)];
  await createBareTable(tx, to, after);
  await tx.run(rebuildingOf(tx).movePositions(from, to));
  const was = new Map(before.fields.map((field) => [field.id, field.name]));
  const isReshaped = new Set(columns.reshaped);
  const columnPairs = after.fields
    .filter((field) => field.name !== 'id' && hasColumn(field) && was.has(field.id))
    .map((field) => {
      const old = names.column(was.get(field.id) ?? field.name);
      return [names.column(field.name), isReshaped.has(field) ? reshaped(old, field, names) : old] as const;
    });
  const hidden = names.tables.hiddenNames;
  const into = joinSql([hidden, ...columnPairs.map(([column]) => column)], ', ');
  const values = joinSql([hidden, ...columnPairs.map(([, value]) => value)], ', ');
  await tx.run(
    sql`INSERT INTO ${names.collectionTable(to)} (${into}) SELECT ${values} FROM ${names.collectionTable(from)} ORDER BY "$position"`,
  );
  await dropTable(tx, from);
  await renameTable(tx, to, from);
}

/**
 * Returns the value of a select or relation that becomes multiple or single: '' and 'a' ⇄ [] and ["a"]. Of several values the last one
 * stays.
 */
function reshaped(column: Sql, field: Field, { dialect }: Names): Sql {
  if (fieldColumn(field) === 'json')
    return sql`CASE ${column} WHEN '' THEN '[]' ELSE ${dialect.listOf(column)} END`;
  return sql`coalesce(${dialect.lastOf(column)}, '')`;
}

async function makeIndex(tx: Transaction, collection: Collection, index: TableIndex): Promise<void> {
  try {
    await tx.run(index.statement);
  } catch (error) {
    throw error instanceof UniqueViolation ? new EqualRecords(collection, index.name, error) : error;
  }
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
