import { assert } from '../base/assert.ts';
import { GenerationCache } from '../base/cache.ts';
import { foldCase } from '../base/case-folding.ts';
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
  /** The tables that it names, as passed to {@link ofTable}. */
  readonly tables: readonly string[];
  /** What an engine has to know of a statement to run it well; undefined for most, and for parts of statements. */
  readonly form: StatementForm | undefined;
  readonly [brand]: true;
}

/** An engine may combine lookups, locks, inserts and changes with others of the same text, to save round trips. */
export type StatementForm =
  /** A SELECT of one row by its key; the key is the last value, a text. */
  | { readonly kind: 'lookup' }
  /** A lookup with a row lock, of the row that the work changes. */
  | { readonly kind: 'lock' }
  /** `INSERT INTO table (columns)`, then VALUES and one row, to which all its values belong. */
  | { readonly kind: 'insert'; readonly into: Sql; readonly row: Sql }
  /** An UPDATE that sets columns of one row by its key; the key is the last value, and the others are those of the columns. */
  | { readonly kind: 'change'; readonly table: Sql; readonly columns: readonly Sql[]; readonly key: Sql }
  /** A SELECT that finds its rows by keys, however large the tables are and whatever the values: one plan serves all of them. */
  | { readonly kind: 'keyed' }
  /** It holds the query of a view: sent so that it can be one statement only, whatever is in it. */
  | { readonly kind: 'single' }
  /** The engine's plan for another statement. It is not kept prepared, or it would not notice changes of the schema. */
  | { readonly kind: 'explain' };

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

/**
 * The query of a view, whose author is a client: the only text that becomes SQL. For engines that check what it names before they run it
 * (storage/view-query.ts). It stands on lines of its own, so that nothing in it hides what is behind it.
 */
export function viewSelect(query: string): Sql {
  return make(`\n${query}\n`, []);
}

/** The name of a table, which statements that contain it report in `tables`. */
export function ofTable(name: Sql, table: string): Sql {
  return make(name.text, [], [table]);
}

/** The parts one after the other, with `separator` between them. */
export function joinSql(
  parts: readonly Sql[],
  separator: ', ' | ' AND ' | ' OR ' | ' ' | ' UNION ALL ',
): Sql {
  const values: SqlValue[] = [];
  for (const part of parts) values.push(...part.values);
  return make(parts.map((part) => part.text).join(separator), values, tablesOf(parts));
}

/** The same statement with other values, for statements that are put together once and run often. */
export function withValues({ text, tables, form }: Sql, values: readonly SqlValue[]): Sql {
  // The brand has no value at run time, as in `make`.
  return { text, values, tables, form } as Sql;
}

/** The same statement with values in place of its slots. */
export function bindSlots({ text, values, tables }: Sql, slotValues: readonly SlotValue[]): Sql {
  const bound = values.map((value) => (value instanceof Slot ? value.read(slotValues) : value));
  return make(text, bound, tables);
}

/** Marks a SELECT of one row by its key, which is the last of its values. */
export function lookupByKey(select: Sql): Sql {
  return withForm(select, { kind: 'lookup' });
}

/** Marks a {@link lookupByKey} that locks the row, which the work is going to change. */
export function lookupToChange(select: Sql): Sql {
  return withForm(select, { kind: 'lock' });
}

/**
 * Marks a SELECT that finds its rows by keys. For PostgreSQL: it would plan a statement on a table with dozens of partitions anew each time,
 * which takes longer than to run it, and would read a small partition as a whole. Parts of the log have to be bounded by values of their
 * own: a bound that a plan gets only from a join makes it search all partitions.
 */
export function foundByKeys(select: Sql): Sql {
  return withForm(select, { kind: 'keyed' });
}

/** Marks a statement that holds the query of a view. */
export function singleStatement(statement: Sql): Sql {
  return withForm(statement, { kind: 'single' });
}

/** Marks a statement that returns the engine's plan for another. */
export function explanation(explain: Sql): Sql {
  return withForm(explain, { kind: 'explain' });
}

/** An INSERT of one row; `columns` and `row` are lists. */
export function insertInto(table: Sql, columns: Sql, row: Sql): Sql {
  const into = sql`INSERT INTO ${table} (${columns})`;
  return withForm(sql`${into} VALUES (${row})`, { kind: 'insert', into, row });
}

/** The parts of a statement of {@link insertInto}. */
export function insertedRow({ form }: Sql): { readonly into: Sql; readonly row: Sql } {
  assert(form?.kind === 'insert', 'each statement of a bulk insert inserts one row');
  return form;
}

/**
 * An UPDATE of one row by its key, with placeholders for the columns' values. The work has locked the row by a lookup before. Columns that
 * are not set have defaults or may be NULL, as it may be run as an upsert.
 */
export function changeByKey(
  table: Sql,
  columns: readonly (readonly [column: Sql, placeholder: Sql])[],
  key: Sql,
): Sql {
  const set = columns.map(([column, placeholder]) => sql`${column} = ${placeholder}`);
  return withForm(sql`UPDATE ${table} SET ${joinSql(set, ', ')} WHERE ${key} = ${null}`, {
    kind: 'change',
    table,
    columns: columns.map(([column]) => column),
    key,
  });
}

/** Replaces the placeholders of a statement by SQL, in their order; the parts have no values of their own. */
export function fillIn(statement: Sql, parts: readonly Sql[]): Sql {
  return make(
    replacePlaceholders(statement.text, (count) => parts[count - 1]?.text ?? '?'),
    [],
    tablesOf([statement, ...parts]),
  );
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
  { readonly parts: readonly Sql[]; readonly text: string; readonly tables: readonly string[] }
>();

function splice(strings: TemplateStringsArray, values: readonly (SqlValue | Slot | Sql)[]): Sql {
  const flat: SqlValue[] = [];
  const parts: Sql[] = [];
  for (const value of values) {
    // `bindSlots` replaces a slot by its value.
    if (!isSql(value)) flat.push(value as SqlValue);
    else {
      parts.push(value);
      if (value.values.length > 0) flat.push(...value.values);
    }
  }
  const last = splicedOf.get(strings);
  if (last !== undefined && last.parts.every((part, index) => part === parts[index]))
    return make(last.text, flat, last.tables);
  const text = joinText(strings, values);
  const tables = tablesOf(parts);
  splicedOf.set(strings, { parts, text, tables });
  return make(text, flat, tables);
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

const noTables: readonly string[] = [];

function tablesOf(parts: readonly Sql[]): readonly string[] {
  let tables = noTables;
  for (const part of parts)
    if (part.tables !== tables && part.tables.length > 0)
      tables = tables.length === 0 ? part.tables : [...new Set([...tables, ...part.tables])];
  return tables;
}

function withForm(statement: Sql, form: StatementForm): Sql {
  return { ...statement, form };
}

function make(text: string, values: readonly SqlValue[], tables = noTables): Sql {
  // The brand has no value at run time; this is the one place that may claim it.
  return { text, values, tables, form: undefined } as Sql;
}

/** A text or number written into a statement that cannot have parameters: the condition of a partial index. */
export function literal(value: string | number): Sql {
  return make(typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`, []);
}

/** The LIMITs by number of rows. Clients choose the size of a page, up to a thousand. */
const limits = new GenerationCache<number, Sql>(1_000);

/**
 * ` LIMIT … OFFSET …`, for the end of a SELECT. The number of rows is a literal: for a parameter PostgreSQL assumes a tenth of all rows,
 * a generic plan looks expensive, and so it plans the statement anew each time. The cast keeps SQLite from planning by the number. Not
 * for numbers that differ each time, as each makes another SQL text.
 */
export function limit(count: number, offset: number | Slot = 0): Sql {
  const rows = limits.findOrAdd(count, limitTo);
  return offset === 0 ? rows : sql`${rows} OFFSET CAST(${offset} AS bigint)`;
}

function limitTo(count: number): Sql {
  assert(Number.isSafeInteger(count) && count >= 0, 'a limit is a whole number of rows');
  return sql` LIMIT CAST(${literal(count)} AS bigint)`;
}

/** A function that every SQLite connection registers, to turn a REAL into text: SQLite's own digits are not always the nearest. */
export const realTextFunction = {
  name: '$real_text',
  call: (value: SqlValue): string | null => (value === null ? null : realText(Number(value))),
} as const;

/** A text with its case folded (base/case-folding.ts): SQLite's own functions know ASCII letters alone. */
export const foldFunction = {
  name: '$fold',
  call: (text: SqlValue): SqlValue => (typeof text === 'string' ? foldCase(text) : text),
} as const;

/**
 * A function that every SQLite connection registers, for LIKE with the escape `\` in a large text, passed as a BLOB: SQLite's own LIKE
 * takes seconds for a long pattern in a text of megabytes, and cannot be interrupted meanwhile.
 */
export const likeFunction = {
  name: '$like',
  call: (text: SqlValue, pattern: SqlValue): number | null =>
    text instanceof Uint8Array && typeof pattern === 'string' ? Number(matchLike(text, pattern)) : null,
} as const;
