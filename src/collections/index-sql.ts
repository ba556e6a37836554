import { assert } from '../base/assert.ts';
import { fieldType } from '../fields/field-types.ts';
import { type Field, fieldColumn } from '../fields/field.ts';
import type { Operand, Prefix } from '../filters/operand.ts';
import { joinSql, literal, sql, type Sql } from '../sql/sql.ts';
import type { Engine, Names } from '../storage/database.ts';
import type { Collection } from './collection.ts';
import type { IndexColumn, IndexCondition, IndexDefinition } from './index-definition.ts';

/** Returns the statement that creates an index of a collection on this engine. */
export function indexSql(collection: Collection, index: IndexDefinition, names: Names): Sql {
  const { isUnique, columns } = index;
  const keyed = columns.map((column) => toKey(column, indexedField(collection, column.name), names));
  const keys = names.engine === 'sqlite' ? keyed.map(({ plain, order }) => sql`${plain}${order}`) : undefined;
  const fitting = keys ?? (isUnique ? uniqueKeys(keyed) : plainKeys(keyed));
  const on = sql`${names.bareName(index.name)} ON ${names.collectionTable(collection.name)} (${joinSql(fitting, ', ')})`;
  const where = index.where.map((condition) => conditionSql(collection, condition, names));
  const condition = where.length === 0 ? sql`` : sql` WHERE ${joinSql(where, ' AND ')}`;
  return isUnique ? sql`CREATE UNIQUE INDEX ${on}${condition}` : sql`CREATE INDEX ${on}${condition}`;
}

/** Returns the statement that creates the index for lists in the order of `created`. */
export function createdIndexSql(collection: Collection, name: Sql, names: Names): Sql {
  const column = { name: 'created', isNocase: false, isDescending: false };
  const { plain, prefix } = toKey(column, indexedField(collection, column.name), names);
  return sql`CREATE INDEX ${name} ON ${names.collectionTable(collection.name)} (${prefix ?? plain}, "$position")`;
}

interface Key {
  readonly plain: Sql;
  readonly order: Sql;
  readonly isText: boolean;
  /** The part of the text that fits into an index row, where the whole text may not. */
  readonly prefix: Sql | undefined;
  readonly bytesMax: number;
}

function toKey({ name, isNocase, isDescending }: IndexColumn, field: Field, names: Names): Key {
  const isText = ['text', 'json'].includes(fieldColumn(field) ?? '');
  const column = names.column(name);
  const plain = isNocase && isText ? nocaseKey(names, column) : column;
  const prefix =
    textPrefix(field, column, names.engine) === undefined ? undefined : sql`(${prefixOf(plain)})`;
  const bytesMax = prefix !== undefined ? prefixBytesMax : isText ? shortBytesMax : numberBytesMax;
  return { plain, order: isDescending ? sql` DESC` : sql``, isText, prefix, bytesMax };
}

/** Returns a key that ignores the case of ASCII letters only, as `lower` does for a text that compares bytewise. */
function nocaseKey(names: Names, column: Sql): Sql {
  return names.engine === 'sqlite' ? sql`${column} COLLATE NOCASE` : sql`lower(${column})`;
}

/** Bytes for the keys of an index row. PostgreSQL allows 2,704, some of which the row's header takes; the sizes below include alignment. */
const rowBytesMax = 2_640;

/** Code points of a prefix. Each has at most four bytes, so that five prefixes fit into an index row. */
const prefixLength = 128;

const prefixBytesMax = prefixLength * 4 + 8;
/** Ids have at most 255 bytes, e-mail addresses 254. */
const shortBytesMax = 264;
const numberBytesMax = 16;
const DIGEST_BYTES = 40;

/**
 * Returns the leading keys that are sure to fit. The first always does; without the others the index only serves fewer queries.
 */
function plainKeys(keys: readonly Key[]): readonly Sql[] {
  let room = rowBytesMax;
  const end = keys.findIndex(({ bytesMax }) => (room -= bytesMax) < 0);
  const fitting = end === -1 ? keys : keys.slice(0, end);
  return fitting.map(({ plain, prefix, order }) => sql`${prefix ?? plain}${order}`);
}

/**
 * Returns keys that are equal exactly where all values are. A text that is longer than its prefix adds a digest of the whole
 * text; one for whose prefix there is no room has only the digest. Digests come last, so that the index serves the same queries
 * as one without them.
 */
function uniqueKeys(keys: readonly Key[]): readonly Sql[] {
  let room = rowBytesMax - keys.length * DIGEST_BYTES;
  const heads: Sql[] = [];
  const digests: Sql[] = [];
  for (const { plain, prefix, order, isText, bytesMax } of keys) {
    // A number fits into the bytes that are reserved for a digest.
    const hasRoom = !isText || bytesMax <= room;
    if (isText && hasRoom) room -= bytesMax;
    if (hasRoom) heads.push(sql`${prefix ?? plain}${order}`);
    if (!hasRoom) digests.push(sql`(${digestOf(plain)})`);
    else if (prefix !== undefined) digests.push(sql`(${digestOfLong(plain)})`);
  }
  return [...heads, ...digests];
}

/**
 * Returns the digest of a text that may be longer than its prefix. Compares bytes, which PostgreSQL knows without decompressing
 * the value: a text of at most this many bytes has at most as many characters.
 */
function digestOfLong(text: Sql): Sql {
  return sql`CASE WHEN octet_length(${text}) > ${literal(prefixLength)} THEN ${digestOf(text)} ELSE ''::bytea END`;
}

/**
 * Returns the SHA-256 of a text. `convert_to` would read better, but is not immutable, as an expression in an index must be. The
 * cast to bytea reads `\` as an escape, so each is doubled.
 */
function digestOf(text: Sql): Sql {
  return sql`sha256(replace(${text}, chr(92), repeat(chr(92), 2))::bytea)`;
}

/** Returns the condition of a partial index. It is written as filters are compiled, or the planner would not see that a filter implies it. */
function conditionSql(
  collection: Collection,
  { column, operator, value }: IndexCondition,
  names: Names,
): Sql {
  const field = indexedField(collection, column);
  const whole = names.column(column);
  const prefix = field.type === 'json' ? undefined : textPrefix(field, whole, names.engine);
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
  assert(field !== undefined, `an index is over fields of its collection, and ${name} is none`);
  return field;
}

/**
 * Returns the part of a field's texts that an index on PostgreSQL holds; undefined where it holds the whole text. An index row is
 * limited to 2,704 bytes, and an INSERT of a longer one fails. SQLite has no such limit (docs/decisions/0007).
 */
function textPrefix(field: Field, column: Sql, engine: Engine): Prefix | undefined {
  if (engine !== 'postgres' || !isLong(field)) return undefined;
  return { sql: prefixOf(column), length: prefixLength, isWhole: lengthMax(field) <= prefixLength };
}

/** Returns the prefix where an index of the collection covers the field. Elsewhere it would only cost time. */
export function indexedPrefix(
  { indexes }: Collection,
  field: Field,
  { column, engine }: { readonly column: Sql; readonly engine: Engine },
): Pick<Operand, 'prefix'> {
  const isIndexed = indexes.some(
    ({ columns, where }) =>
      columns.some(({ name }) => name === field.name) ||
      where.some((condition) => condition.column === field.name),
  );
  // Every collection has an index on `created`, which a definition may make a text field.
  const prefix = isIndexed || field.name === 'created' ? textPrefix(field, column, engine) : undefined;
  return prefix === undefined ? {} : { prefix };
}

/** Returns the prefix of any text expression, such as `lower("title")`. */
function prefixOf(text: Sql): Sql {
  return sql`left(${text}, ${literal(prefixLength)})`;
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
