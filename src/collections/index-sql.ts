import { assert } from '../base/assert.ts';
import { fieldColumn, type Field } from '../fields/field.ts';
import { joinSql, literal, sql, type Sql } from '../sql/sql.ts';
import type { Names } from '../storage/database.ts';
import type { Collection } from './collection.ts';
import type { IndexColumn, IndexCondition, IndexDefinition } from './index-definition.ts';
import { prefixLength, prefixOf, textPrefix } from './text-prefix.ts';

/** The statement that makes an index of a collection on this engine. */
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

/** The statement that makes the index which every list by time is served by. */
export function createdIndexSql(collection: Collection, name: Sql, names: Names): Sql {
  const column = { name: 'created', isNocase: false, isDescending: false };
  const { plain, prefix } = toKey(column, indexedField(collection, column.name), names);
  return sql`CREATE INDEX ${name} ON ${names.collectionTable(collection.name)} (${prefix ?? plain}, "$position")`;
}

interface Key {
  readonly plain: Sql;
  readonly order: Sql;
  readonly isText: boolean;
  /** What of it fits, where the whole may not. */
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

/** The case of ASCII letters does not count: so does `lower` of a text that compares bytewise. */
function nocaseKey(names: Names, column: Sql): Sql {
  return names.engine === 'sqlite' ? sql`${column} COLLATE NOCASE` : sql`lower(${column})`;
}

/** Of PostgreSQL's 2,704 some are for the head of the row; the sizes below include how values are aligned. */
const rowBytesMax = 2_640;
const prefixBytesMax = prefixLength * 4 + 8;
/** Ids have at most 255 bytes, e-mail addresses 254. */
const shortBytesMax = 264;
const numberBytesMax = 16;
const DIGEST_BYTES = 40;

/** As many as fit for sure; without the others it only serves less. The first always does. */
function plainKeys(keys: readonly Key[]): readonly Sql[] {
  let room = rowBytesMax;
  const end = keys.findIndex(({ bytesMax }) => (room -= bytesMax) < 0);
  const fitting = end === -1 ? keys : keys.slice(0, end);
  return fitting.map(({ plain, prefix, order }) => sql`${prefix ?? plain}${order}`);
}

/**
 * Equal exactly where all values are: beside its beginning, a text that goes on has a digest of the whole, and one for which there
 * is no room has nothing but that. Digests come last, so that the index serves what a plain one would.
 */
function uniqueKeys(keys: readonly Key[]): readonly Sql[] {
  let room = rowBytesMax - keys.length * DIGEST_BYTES;
  const heads: Sql[] = [];
  const digests: Sql[] = [];
  for (const { plain, prefix, order, isText, bytesMax } of keys) {
    // Numbers fit into what is kept for a digest.
    const hasRoom = !isText || bytesMax <= room;
    if (isText && hasRoom) room -= bytesMax;
    if (hasRoom) heads.push(sql`${prefix ?? plain}${order}`);
    if (!hasRoom) digests.push(sql`(${digestOf(plain)})`);
    else if (prefix !== undefined) digests.push(sql`(${digestOfLong(plain)})`);
  }
  return [...heads, ...digests];
}

/** By bytes, which PostgreSQL knows without unpacking the value: one of no more than these bytes has no more characters. */
function digestOfLong(text: Sql): Sql {
  return sql`CASE WHEN octet_length(${text}) > ${literal(prefixLength)} THEN ${digestOf(text)} ELSE ''::bytea END`;
}

/** `convert_to` would read better, but counts as one that may change its mind, which no index may hold. The cast reads `\` as an escape. */
function digestOf(text: Sql): Sql {
  return sql`sha256(replace(${text}, chr(92), repeat(chr(92), 2))::bytea)`;
}

/** In the words of filters, or the planner would not see that a filter implies it. */
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

/** As they are said in SQL. */
export const conditionOperators = {
  '=': sql`=`,
  '!=': sql`<>`,
  '<': sql`<`,
  '<=': sql`<=`,
  '>': sql`>`,
  '>=': sql`>=`,
} as const;

/** The field of this name, which there is for every column of an index. */
export function indexedField(collection: Collection, name: string): Field {
  const field = collection.fields.find((candidate) => candidate.name === name);
  assert(field !== undefined, `an index is over fields of its collection, and ${name} is none`);
  return field;
}
