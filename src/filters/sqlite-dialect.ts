import { unreachable } from '../base/assert.ts';
import { foldCase, hasFormsBeyondAscii } from '../base/case-folding.ts';
import { converted, holds } from '../sql/slot.ts';
import { foldFunction, identifier, joinSql, likeFunction, literal, sql, type Sql } from '../sql/sql.ts';
import type { Comparator, Dialect, LikeMatch } from './dialect.ts';
import { filterLimits } from './filter-error.ts';
import { isOperand, mayBeSlow, type Operand, type Term } from './operand.ts';
import { jsonText, lengthIn, textOf, valueOf } from './sqlite-value.ts';

/** Relies on SQLite's affinities, so operands must be columns of the declared type of their kind: TEXT, REAL or NUMERIC, INTEGER. */
export const sqliteDialect: Dialect = {
  engine: 'sqlite',
  compare: (left, comparator, right) =>
    sql`${valueBeside(left, right)} ${comparators[comparator]} ${valueBeside(right, left)}`,
  compareCoalesced: (left, comparator, right) =>
    sql`COALESCE(${left.sql}, '') ${comparators[comparator]} COALESCE(${right.sql}, '')`,
  like,
  orderBy: (operand, isDescending) =>
    isDescending ? sql`${valueOf(operand)} DESC` : sql`${valueOf(operand)}`,
  orderRandomly: sql`random()`,
  lower,
  each: (list, alias) => sql`json_each(${jsonOf(list)}) AS ${alias}`,
  // The casts give these expressions the affinity of a column of their kind.
  valueOfEach: (alias) => ({ sql: sql`CAST(${alias}.value AS TEXT)`, kind: 'text' }),
  length: (list) => ({
    sql: sql`CAST(COALESCE(json_array_length(${jsonOf(list)}), 0) AS REAL)`,
    kind: 'number',
  }),
  lengthInJson: (value) => ({ sql: sql`CAST(COALESCE(${lengthIn(value)}, 0) AS REAL)`, kind: 'number' }),
  countOf: (alias) => ({ sql: sql`CAST(COUNT(${alias}.id) AS REAL)`, kind: 'number' }),
  opaque: (text) => text,
  columnType: (kind) => columnTypes[kind],
  placeholder: () => sql`${null}`,
  typed: (kind, value) => sql`CAST(${value} AS ${columnTypes[kind]})`,
  utf8: sql`CAST(${null} AS BLOB)`,
  foldedKey: (column) => sql`${column} COLLATE NOCASE`,
  equalsFolded: (column, text) => sql`${column} = ${text} COLLATE NOCASE`,
  listOf: (text) => sql`json_array(${text})`,
  lastOf: (list) => sql`json_extract(${list}, '$[#-1]')`,
  numberUnder: (object, name) => sql`${object} ->> ${literal(name)}`,
  preview: previewOf,
};

const columnTypes = { text: sql`TEXT`, number: sql`REAL`, bool: sql`INTEGER`, json: sql`TEXT` } as const;

/**
 * Guards a list column against text that is no JSON. Columns hold valid JSON, but beside `tags = 'x'` SQLite substitutes 'x' for other
 * mentions of the column, and may evaluate them before it has checked that such a row exists.
 */
function jsonOf(list: Sql): Sql {
  return sql`CASE WHEN json_valid(${list}) THEN ${list} END`;
}

const comparators: Readonly<Record<Comparator, Sql>> = {
  '=': sql`=`,
  IS: sql`IS`,
  'IS NOT': sql`IS NOT`,
  '<': sql`<`,
  '<=': sql`<=`,
  '>': sql`>`,
  '>=': sql`>=`,
};

function like({ subject, pattern, isNegated }: LikeMatch): Sql {
  const text = textOf(subject);
  if (isOperand(pattern)) {
    const needle = textOf(pattern);
    const how = { likeBytesMax: 64, ascii: [text, needle], isNegated };
    const matches = matchBySize(subject, sql`('%' || ${needle} || '%')`, how);
    // A long pattern from a column costs as much as a long one from the client.
    return sql`(octet_length(${needle}) <= ${filterLimits.patternBytesMax} AND ${matches})`;
  }
  const folded = sql`${converted(pattern, foldCase)}`;
  const ascii = isAscii(subject) || !holds(pattern, hasFormsBeyondAscii) ? [] : [text];
  const size = mayBeSlow(subject, pattern) ? { likeBytesMax: 1_024 } : {};
  return matchBySize(subject, folded, { ...size, ascii, isNegated });
}

/** Values of other types than text have only ASCII letters. */
function isAscii(subject: Term): boolean {
  return isOperand(subject) && ['number', 'bool', 'date'].includes(subject.kind);
}

interface MatchOptions {
  readonly likeBytesMax?: number;
  /** Texts that have to be ASCII for LIKE, which knows no other letters. */
  readonly ascii: readonly Sql[];
  readonly isNegated: boolean;
}

/** Matches short texts of ASCII letters by SQLite's LIKE, and others by a function that is slower, but knows all letters and the deadline. */
function matchBySize(subject: Term, pattern: Sql, { likeBytesMax, ascii, isNegated }: MatchOptions): Sql {
  const text = textOf(subject);
  const byLike = matchByLike(subject, pattern, isNegated);
  // A value in JSON is no longer than the JSON text.
  const whole = isOperand(subject) ? subject.sql : text;
  const conditions = [
    ...(likeBytesMax === undefined ? [] : [sql`octet_length(${whole}) > ${likeBytesMax}`]),
    ...ascii.map((one) => sql`octet_length(${one}) > length(${one})`),
  ];
  if (conditions.length === 0) return byLike;
  const matches = sql`${identifier(likeFunction.name)}(CAST(${text} AS BLOB), ${pattern})`;
  return sql`CASE WHEN ${joinSql(conditions, ' OR ')} THEN ${isNegated ? sql`NOT ${matches}` : matches} ELSE ${byLike} END`;
}

function previewOf(operand: Operand, lengthMax: number): Sql {
  const { kind, sql: value } = operand;
  switch (kind) {
    case 'text':
    case 'date':
      return sql`json_quote(substr(${value}, 1, ${literal(lengthMax)}))`;
    case 'number':
      return sql`json_quote(${value})`;
    case 'bool':
      return sql`CASE ${value} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END`;
    case 'json':
      return sql`substr(${jsonText(operand)}, 1, ${literal(lengthMax)})`;
    default:
      return unreachable(kind);
  }
}

function lower(operand: Operand): Operand {
  const text = textOf(operand);
  const fold = identifier(foldFunction.name);
  // The cast gives the expression the affinity of a column of its kind.
  return {
    sql: sql`CAST(CASE WHEN octet_length(${text}) > length(${text}) THEN ${fold}(${text}) ELSE lower(${text}) END AS TEXT)`,
    kind: 'text',
  };
}

function matchByLike(subject: Term, pattern: Sql, isNegated: boolean): Sql {
  return sql`${textOf(subject)} ${isNegated ? sql`NOT LIKE` : sql`LIKE`} ${pattern} ESCAPE '\\'`;
}

/** Beside a text, converts a json value to text explicitly: the affinity would write a number as this version of SQLite does. */
function valueBeside(term: Term, other: Term): Sql {
  const isBesideText = isOperand(other) && (other.kind === 'text' || other.kind === 'date');
  return isBesideText && isOperand(term) && term.kind === 'json' ? textOf(term) : valueOf(term);
}
