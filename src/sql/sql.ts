import { assert } from '../base/assert.ts';
import { GenerationCache } from '../base/cache.ts';
import { matchLike } from '../base/match-like.ts';
import { realText } from '../base/text.ts';
import { Slot, type SlotValue } from './slot.ts';

/**
 * SQL as a value: text and parameters kept apart. Values never become text; names become text only through
 * {@link identifier}, which quotes them. The placeholder is `?` on every engine; storage/ renumbers where it must.
 */
export type SqlValue = string | number | bigint | null | Uint8Array;

declare const brand: unique symbol;

export interface Sql {
  readonly text: string;
  /** In a statement that is kept, some are slots: {@link bindSlots} fills them before an engine sees the statement. */
  readonly values: readonly SqlValue[];
  /** Absent where a statement is never combined with others. */
  readonly together?: Batchable;
  readonly [brand]: true;
}

/**
 * Marks a statement that an engine may combine with others of the same text, to save round trips, by its kind:
 *
 * - `lookup`: a SELECT of one row by its key; the key is the last value, a text;
 * - `insert`: an INSERT of one row by VALUES, with nothing behind them;
 * - `change`: an UPDATE of one row by its key; the key is the last value, and every other value is what a column is set to. The work has
 *   locked the row by a lookup before. Columns that are not set have defaults or may be NULL, as the UPDATE is run as an upsert.
 */
export type Batchable = 'lookup' | 'insert' | 'change';

/** The texts of templates without nested SQL, by call site: joined once, so that statement caches can look up the identical string. */
const textOf = new WeakMap<TemplateStringsArray, string>();

/** `` sql`SELECT * FROM t WHERE id = ${id}` ``; an interpolated {@link Sql} is spliced in with its own values. */
export function sql(strings: TemplateStringsArray, ...values: readonly (SqlValue | Slot | Sql)[]): Sql {
  for (const value of values) if (isSql(value)) return splice(strings, values);
  let text = textOf.get(strings);
  if (text === undefined) {
    text = strings.join('?');
    textOf.set(strings, text);
  }
  // No value is an Sql here: the loop above returned otherwise.
  return make(text, values as readonly SqlValue[]);
}

/** A quoted name of a table, column or index. */
export function identifier(name: string): Sql {
  return make(`"${name.replaceAll('"', '""')}"`, []);
}

/** The parts one after the other, with `separator` between them. */
export function joinSql(parts: readonly Sql[], separator: ', ' | ' AND ' | ' OR ' | ' '): Sql {
  const values: SqlValue[] = [];
  for (const part of parts) values.push(...part.values);
  return make(parts.map((part) => part.text).join(separator), values);
}

/** The same statement with other values, for statements that are put together once and run often. */
export function withValues({ text, together }: Sql, values: readonly SqlValue[]): Sql {
  // The brand has no value at run time, as in `make`.
  return (together === undefined ? { text, values } : { text, values, together }) as Sql;
}

/** The same statement with values in place of its slots. */
export function bindSlots({ text, values }: Sql, given: readonly SlotValue[]): Sql {
  return make(
    text,
    values.map((value) => (value instanceof Slot ? value.read(given) : value)),
  );
}

/** The same statement, marked as one that may be combined with others. */
export function runBatch(statement: Sql, together: Batchable): Sql {
  return { ...statement, together };
}

/** Replaces the placeholders of a statement by SQL, in their order; the parts have no values of their own. */
export function fillIn(statement: Sql, parts: readonly Sql[]): Sql {
  return make(
    replacePlaceholders(statement.text, (count) => parts[count - 1]?.text ?? '?'),
    [],
  );
}

/** Splits an INSERT of one row into what stands before VALUES, and the expressions behind it, to which all its values belong. */
export function partsOfInsert({ text, values }: Sql): { readonly into: Sql; readonly row: Sql } {
  const found = /^\s*(INSERT INTO (?:"[^"]*"|[^"?'])*?\))\s*VALUES\s*\((.*)\)\s*$/s.exec(text);
  assert(found, 'what is inserted together is an INSERT of one row by VALUES');
  const [, into = '', row = ''] = found;
  return { into: make(into, []), row: make(row, values) };
}

/**
 * Splits a `change` into its table, the columns that are set to values, in order, the column of the key, and the list behind SET with
 * the columns of `row` in place of the values.
 */
export function partsOfChange(
  { text }: Sql,
  row: Sql,
): { readonly table: Sql; readonly columns: readonly Sql[]; readonly key: Sql; readonly set: Sql } {
  const found = /^\s*UPDATE (\S+) SET (.+) WHERE (\S+) = \?\s*$/s.exec(text);
  assert(found, 'what is changed together is an UPDATE of one row by its key');
  const [, table = '', list = '', key = ''] = found;
  const columns: Sql[] = [];
  const set = list.replaceAll(/("[^"]*"|\w+) = \?/g, (_, column: string) => {
    columns.push(make(column, []));
    return `${column} = ${row.text}.${column}`;
  });
  return { table: make(table, []), columns, key: make(key, []), set: make(set, []) };
}

/** Replaces each `?` except between quotes, counting from 1. Our statements have no comments, and no strings with backslashes. */
export function replacePlaceholders(text: string, replacement: (count: number) => string): string {
  let count = 0;
  // A doubled quote inside a string matches as the end of one string and the beginning of the next, with the same result.
  return text.replaceAll(/'[^']*'|"[^"]*"|\?/g, (part) => (part === '?' ? replacement((count += 1)) : part));
}

/** The last text of each template with nested SQL, by call site: nearly always the same parts are spliced in again. */
const splicedOf = new WeakMap<
  TemplateStringsArray,
  { readonly parts: readonly Sql[]; readonly text: string }
>();

function splice(strings: TemplateStringsArray, values: readonly (SqlValue | Slot | Sql)[]): Sql {
  const flat: SqlValue[] = [];
  const parts: Sql[] = [];
  for (const value of values) {
    // A slot stands for a value, which `bindSlots` puts there.
    if (!isSql(value)) flat.push(value as SqlValue);
    else {
      parts.push(value);
      if (value.values.length > 0) flat.push(...value.values);
    }
  }
  const last = splicedOf.get(strings);
  if (last !== undefined && last.parts.every((part, index) => part === parts[index]))
    return make(last.text, flat);
  const text = joinText(strings, values);
  splicedOf.set(strings, { parts, text });
  return make(text, flat);
}

function joinText(strings: TemplateStringsArray, values: readonly (SqlValue | Slot | Sql)[]): string {
  let text = strings[0] ?? '';
  for (const [index, value] of values.entries()) {
    text += isSql(value) ? value.text : '?';
    text += strings[index + 1] ?? '';
  }
  return text;
}

function isSql(value: SqlValue | Slot | Sql): value is Sql {
  return typeof value === 'object' && value !== null && 'text' in value;
}

function make(text: string, values: readonly SqlValue[]): Sql {
  // The brand has no value at run time; this is the one place that may claim it.
  return { text, values } as Sql;
}

/** A text or number written into a statement that takes no parameters: the condition of a partial index. */
export function literal(value: string | number): Sql {
  return make(typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`, []);
}

/** The LIMITs by number of rows. Clients choose the size of a page, up to a thousand. */
const known = new GenerationCache<number, Sql>(1_000);

/**
 * ` LIMIT … OFFSET …`, for the end of a SELECT. The number of rows is a literal: for a parameter PostgreSQL assumes a tenth of all rows,
 * a generic plan looks expensive, and so it plans the statement anew each time. The cast keeps SQLite from planning by the number. Not
 * for numbers that differ each time, as each makes another SQL text.
 */
export function limit(count: number, offset: number | Slot = 0): Sql {
  const rows = known.findOrAdd(count, limitTo);
  return offset === 0 ? rows : sql`${rows} OFFSET CAST(${offset} AS bigint)`;
}

function limitTo(count: number): Sql {
  assert(Number.isSafeInteger(count) && count >= 0, 'a whole number of rows');
  return sql` LIMIT CAST(${literal(count)} AS bigint)`;
}

/** A function that every SQLite connection registers, to turn a REAL into text: SQLite's own digits are not always the nearest. */
export const realTextFunction = {
  name: '$real_text',
  call: (value: SqlValue): string | null => (value === null ? null : realText(Number(value))),
} as const;

/**
 * A function that every SQLite connection registers, for LIKE with the escape `\` in a large text, given as a BLOB: SQLite's own LIKE
 * takes seconds for a long pattern in a text of megabytes, and cannot be interrupted meanwhile.
 */
export const likeFunction = {
  name: '$like',
  call: (text: SqlValue, pattern: SqlValue): number | null =>
    text instanceof Uint8Array && typeof pattern === 'string' ? Number(matchLike(text, pattern)) : null,
} as const;
