import { assert } from '../base/assert.ts';
import { fieldType } from '../fields/field-types.ts';
import { type Field, fieldColumn } from '../fields/field.ts';
import type { Operand, Prefix } from '../filters/operand.ts';
import { joinSql, literal, sql, type Sql } from '../sql/sql.ts';
import type { IndexKey, Names } from '../storage/database.ts';
import type { Collection } from './collection.ts';
import type { IndexColumn, IndexCondition, IndexDefinition } from './index-definition.ts';

/** Returns the statement that creates an index of a collection on this engine. */
export function indexSql(collection: Collection, index: IndexDefinition, names: Names): Sql {
  const { isUnique, columns } = index;
  const keyed = columns.map((column) => toKey(column, indexedField(collection, column.name), names));
  const fitting = names.tables.indexKeys(keyed, isUnique);
  const on = sql`${names.bareName(index.name)} ON ${names.collectionTable(collection.name)} (${joinSql(fitting, ', ')})`;
  const where = index.where.map((condition) => conditionSql(collection, condition, names));
  const condition = where.length === 0 ? sql`` : sql` WHERE ${joinSql(where, ' AND ')}`;
  return isUnique ? sql`CREATE UNIQUE INDEX ${on}${condition}` : sql`CREATE INDEX ${on}${condition}`;
}

/** Returns the statement that creates the index for lists in the order of `created`. */
export function createdIndexSql(collection: Collection, name: Sql, names: Names): Sql {
  const column = { name: 'created', isNocase: false, isDescending: false };
  const key = toKey(column, indexedField(collection, column.name), names);
  const keys = joinSql([...names.tables.indexKeys([key], false), sql`"$position"`], ', ');
  return sql`CREATE INDEX ${name} ON ${names.collectionTable(collection.name)} (${keys})`;
}

/** Returns the statement that creates the index by which an account is found when its identity is written in another letter case. */
export function foldedIndexSql(
  collection: Collection,
  field: Field,
  named: { readonly name: Sql; readonly names: Names },
): Sql {
  const { name, names } = named;
  const key = toKey({ name: field.name, isNocase: true, isDescending: false }, field, names);
  // The whole text, which the unique index of the identity has, too.
  const keys = joinSql(names.tables.indexKeys([key], true), ', ');
  return sql`CREATE INDEX ${name} ON ${names.collectionTable(collection.name)} (${keys})`;
}

function toKey({ name, isNocase, isDescending }: IndexColumn, field: Field, names: Names): IndexKey {
  const isText = ['text', 'json'].includes(fieldColumn(field) ?? '');
  const column = names.column(name);
  return {
    sql: isNocase && isText ? names.dialect.foldedKey(column) : column,
    kind: isText ? (isLong(field) ? 'long text' : 'short text') : 'number',
    order: isDescending ? sql` DESC` : sql``,
  };
}

/** Returns the condition of a partial index. It is written as filters are compiled, or the planner would not see that a filter implies it. */
function conditionSql(
  collection: Collection,
  { column, operator, value }: IndexCondition,
  names: Names,
): Sql {
  const field = indexedField(collection, column);
  const whole = names.column(column);
  const prefix = field.type === 'json' ? undefined : textPrefix(field, whole, names);
  const isInPrefix = prefix !== undefined && String(value).length < prefix.length;
  return sql`${isInPrefix ? prefix.sql : whole} ${conditionOperators[operator]} ${literal(value)}`;
}

/** Operators as SQL. */
export const conditionOperators = {
  '=': sql`=`,
  '!=': sql`<>`,
  '<': sql`<`,
  '<=': sql`<=`,
  '>': sql`>`,
  '>=': sql`>=`,
} as const;

/** Returns the field of an index's column, which always exists. */
export function indexedField(collection: Collection, name: string): Field {
  const field = collection.fields.find((candidate) => candidate.name === name);
  assert(field !== undefined, `the column ${name} of an index is a field of its collection`);
  return field;
}

/** Returns the part of a field's texts that an index holds; undefined where it holds the whole text. */
function textPrefix(field: Field, column: Sql, { tables }: Names): Prefix | undefined {
  const part = isLong(field) ? tables.indexedPart(column) : undefined;
  return part && { ...part, isWhole: lengthMax(field) <= part.length };
}

/** Returns the prefix where an index of the collection covers the field. Elsewhere it would only cost time. */
export function indexedPrefix(
  { indexes }: Collection,
  field: Field,
  { column, names }: { readonly column: Sql; readonly names: Names },
): Pick<Operand, 'prefix'> {
  const isIndexed = indexes.some(
    ({ columns, where }) =>
      columns.some(({ name }) => name === field.name) ||
      where.some((condition) => condition.column === field.name),
  );
  // Every collection has an index on `created`, which a definition may make a text field.
  const prefix = isIndexed || field.name === 'created' ? textPrefix(field, column, names) : undefined;
  return prefix === undefined ? {} : { prefix };
}

/** Whether the field can hold a text of more than 255 bytes, or could under earlier options. */
function isLong(field: Field): boolean {
  const column = fieldColumn(field);
  if (column !== 'text' && column !== 'json') return false;
  if (field.options['primaryKey'] === true) return false;
  return column === 'json' || fieldType(field).isShort !== true;
}

/** Returns the code points of the longest text that the field accepts now. */
function lengthMax(field: Field): number {
  const { max, values } = field.options;
  if (field.type === 'text' && typeof max === 'number' && max > 0) return max;
  if (field.type === 'select' && fieldColumn(field) === 'text' && Array.isArray(values))
    return Math.max(...values.map((value) => String(value).length));
  return Infinity;
}
