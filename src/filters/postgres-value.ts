import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Operand } from './operand.ts';

/**
 * A value that may be a number in one row and a text in another, as two expressions: in each row at most one is not NULL, and an absent
 * one is NULL in all rows.
 */
export interface Value {
  /** double precision, or an integer of any size. */
  readonly number?: Sql;
  readonly text?: Sql;
  /** A FROM item that takes json apart once for each row. The two expressions refer to it, and {@link withSources} adds it. */
  readonly source?: Sql;
}

export const noNumber: Sql = sql`NULL::double precision`;
export const noText: Sql = sql`NULL::text`;

export function isText({ kind }: Operand): boolean {
  return kind === 'text' || kind === 'date';
}

type Side = 'left' | 'right';

/** Returns the value with its own kind, which for json differs from row to row. */
export function valueOf(operand: Operand, side: Side = 'left'): Value {
  if (operand.kind !== 'json') return isText(operand) ? { text: operand.sql } : { number: operand.sql };
  const { type, written } = columnsOf[side];
  return {
    number: sql`CASE ${type} WHEN 'number' THEN ${written}::double precision WHEN 'boolean' THEN ${written}::boolean::integer END`,
    text: sql`CASE WHEN ${type} IN ('string', 'array', 'object') THEN ${written} END`,
    source: jsonSource(operand, side),
  };
}

/** Returns the value if it is a number, else NULL; other json values are not converted. */
export function numberOf(operand: Operand): Value & { readonly number: Sql } {
  if (operand.kind !== 'json') return { number: operand.sql };
  const { type, written } = columnsOf.left;
  const number = sql`CASE ${type} WHEN 'number' THEN ${written}::double precision END`;
  return { number, source: jsonSource(operand, 'left') };
}

/** Returns the number of values in a list, 0 for all else, and where it is read from. */
export function lengthIn(operand: Operand): readonly [length: Sql, from: Value] {
  const { type, written } = columnsOf.left;
  const length = sql`CASE ${type} WHEN 'array' THEN json_array_length(${written}::json) ELSE 0 END::double precision`;
  return [length, { source: jsonSource(operand, 'left') }];
}

/** Returns the value as a text: for LIKE, and for comparisons with a text. */
export function textOf(operand: Operand, side: Side = 'left'): Value & { readonly text: Sql } {
  if (isText(operand)) return { text: operand.sql };
  if (operand.kind !== 'json') return { text: numberText(operand.sql) };
  const { type, written } = columnsOf[side];
  const text = sql`CASE ${type} WHEN 'number' THEN ${jsonNumberText(written)} WHEN 'boolean' THEN ${written}::boolean::integer::text ELSE ${written} END`;
  return { text, source: jsonSource(operand, side) };
}

/** Wraps an expression over values in a SELECT from their sources. */
export function withSources(expression: Sql, ...values: readonly Value[]): Sql {
  const sources = values.flatMap(({ source }) => (source === undefined ? [] : [source]));
  return sources.length === 0 ? expression : sql`(SELECT ${expression} FROM ${joinSql(sources, ', ')})`;
}

/** Names of sources and their columns. They begin with `$`, which no field's name does, so that they hide no column. */
const columnsOf = {
  left: { name: sql`"$left"`, type: sql`"$left"."$type"`, written: sql`"$left"."$written"` },
  right: { name: sql`"$right"`, type: sql`"$right"."$type"`, written: sql`"$right"."$written"` },
} as const;

/**
 * A FROM item with the type and the text of a json value: texts without quotes, true and false as words, arrays and objects as JSON. As
 * json, because jsonb reorders members and rewrites numbers. OFFSET 0 keeps the planner from merging the SELECTs, which would parse the
 * JSON once for each mention.
 */
function jsonSource(operand: Operand, side: Side): Sql {
  const leaf = leafOf(operand);
  const parts = sql`json_typeof("$leaf") AS "$type", ("$leaf" #>> '{}') COLLATE "C" AS "$written"`;
  return sql`(SELECT ${parts} FROM (SELECT ${leaf} AS "$leaf" OFFSET 0) AS "$json" OFFSET 0) AS ${columnsOf[side].name}`;
}

function leafOf({ sql: column, path = [] }: Operand): Sql {
  // A text step is the name of a member, an integer an index of an array; `->` gives NULL for a name in an array and vice versa.
  const steps = path.map((step) =>
    typeof step === 'number' ? sql`-> ${step}::integer` : sql`-> ${step}::text`,
  );
  return sql`(${column})::json ${joinSql(steps, ' ')}`;
}

/** Returns the value of a json operand as JSON. */
export function jsonText(operand: Operand): Sql {
  return sql`(${leafOf(operand)})::text`;
}

/** Writes a number in json: an integer as it stands if it fits into SQLite's 64 bits, else as a REAL. */
function jsonNumberText(written: Sql): Sql {
  const isInteger = sql`${written} !~ '[.eE]' AND ${written}::numeric BETWEEN -9223372036854775808 AND 9223372036854775807`;
  return sql`CASE WHEN ${isInteger} THEN ${written} ELSE ${realText(sql`${written}::double precision`)} END`;
}

/** Writes a whole number as `5`, not `5.0`. */
function numberText(number: Sql): Sql {
  // From 2^63 on the cast to bigint would fail.
  const isInteger = sql`${number} >= -9223372036854775808::double precision AND ${number} < 9223372036854775808::double precision AND ${number} = trunc(${number})`;
  return sql`CASE WHEN ${isInteger} THEN (${number})::bigint::text ELSE ${realText(number)} END`;
}

/** Writes a number as base/text.ts does. */
function realText(number: Sql): Sql {
  const written = sql`(${number})::text`;
  const decimal = sql`${written}::numeric::text || CASE WHEN ${number} = trunc(${number}) THEN '.0' ELSE '' END`;
  const exponential = sql`replace(${withPoint(written)}, 'Infinity', 'Inf')`;
  return sql`CASE WHEN ${number} = 0 THEN '0.0' WHEN abs(${number}) >= 1e-4::double precision AND abs(${number}) < 1e17::double precision THEN ${decimal} WHEN abs(${number}) >= 1e17::double precision AND abs(${number}) < 1e41::double precision THEN ${withPoint(fewestDigits(number))} ELSE ${exponential} END`;
}

/**
 * Writes the shortest decimal, even one half-way between two doubles, which reads back as the even one; PostgreSQL avoids these and
 * takes more digits. They exist only for whole numbers with 17 digits and up to 23 zeros, as 54 bits hold no more factors of five.
 */
function fewestDigits(number: Sql): Sql {
  const short = (format: Sql): Sql =>
    sql`regexp_replace(ltrim(to_char(${number}, ${format})), '[.]{0,1}0*e', 'e')`;
  const [few, more] = [short(sql`'9.99999999999999EEEE'`), short(sql`'9.999999999999999EEEE'`)];
  return sql`CASE ${number} WHEN ${few}::double precision THEN ${few} WHEN ${more}::double precision THEN ${more} ELSE (${number})::text END`;
}

/** Writes `1.0e+21` instead of `1e+21`. */
function withPoint(written: Sql): Sql {
  return sql`CASE WHEN strpos(${written}, '.') > 0 THEN ${written} ELSE replace(${written}, 'e', '.0e') END`;
}

/** Converts a value beside a number: a text that looks like a number becomes one, as in `numberOfText` of operand.ts. */
export function numberOrText(value: Value): Value {
  const { number, text } = value;
  if (text === undefined) return value;
  const looksLikeOne = sql`${text} ~ '^[[:space:]]*[+-]{0,1}([0-9]+([.][0-9]*){0,1}|[.][0-9]+)([eE][+-]{0,1}[0-9]+){0,1}[[:space:]]*$'`;
  const converted = sql`CASE WHEN ${looksLikeOne} THEN ${safeNumber(text)} END`;
  return {
    ...value,
    number: number === undefined ? converted : sql`COALESCE(${number}, ${converted})`,
    text: sql`CASE WHEN ${looksLikeOne} THEN NULL ELSE ${text} END`,
  };
}

/** Casts a text to a number. The cast would fail for one that is too large or too small, which the jsonpath method reports silently. */
function safeNumber(text: Sql): Sql {
  const isInRange = sql`jsonb_path_exists(to_jsonb(${text}), '$.double()', '{}', true)`;
  return sql`CASE WHEN ${isInRange} THEN (${text})::double precision ELSE ${outOfRange(text)} END`;
}

/** Infinity or 0 for a number out of range, by the place of its first significant digit after the exponent is applied. */
function outOfRange(text: Sql): Sql {
  const parts = sql`regexp_match(${text}, '^[[:space:]]*([+-]{0,1})([0-9]*)[.]{0,1}([0-9]*)([eE]([+-]{0,1})([0-9]+)){0,1}')`;
  const wholeDigits = sql`length(ltrim(part[2], '0'))`;
  const leadingZeros = sql`CASE WHEN ${wholeDigits} = 0 THEN length(part[3]) - length(ltrim(part[3], '0')) ELSE 0 END`;
  // An exponent of more than ten digits decides by itself: no text has enough digits to make up for it.
  const power = sql`CASE WHEN length(ltrim(part[6], '0')) > 10 THEN 10000000000 ELSE COALESCE(part[6], '0')::bigint END`;
  const exponent = sql`${power} * CASE part[5] WHEN '-' THEN -1 ELSE 1 END`;
  const infinity = sql`CASE part[1] WHEN '-' THEN '-Infinity'::double precision ELSE 'Infinity'::double precision END`;
  return sql`(SELECT CASE WHEN ${wholeDigits} - ${leadingZeros} + ${exponent} > 0 THEN ${infinity} ELSE 0 END FROM ${parts} AS part)`;
}
