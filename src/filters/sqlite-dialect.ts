import { identifier, likeFunction, literal, sql, type Sql } from '../sql/sql.ts';
import type { Comparator, Dialect, LikeMatch } from './dialect.ts';
import { filterLimits } from './filter-error.ts';
import { isOperand, mayBeSlow, type Term } from './operand.ts';
import { textOf, valueOf } from './sqlite-value.ts';

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
  // The casts give these expressions the affinity of a column of their kind.
  lower: (operand) => ({ sql: sql`CAST(lower(${textOf(operand)}) AS TEXT)`, kind: 'text' }),
  each: (list, alias) => sql`json_each(${jsonOf(list)}) AS ${alias}`,
  valueOfEach: (alias) => ({ sql: sql`CAST(${alias}.value AS TEXT)`, kind: 'text' }),
  length: (list) => ({
    sql: sql`CAST(COALESCE(json_array_length(${jsonOf(list)}), 0) AS REAL)`,
    kind: 'number',
  }),
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
  if (isOperand(pattern)) {
    const found = textOf(pattern);
    const matches = matchBySize(subject, sql`('%' || ${found} || '%')`, { likeBytesMax: 64, isNegated });
    // A long pattern from a column costs as much as a long one from the client.
    return sql`(octet_length(${found}) <= ${filterLimits.patternBytesMax} AND ${matches})`;
  }
  if (!mayBeSlow(subject, pattern)) return matchByLike(subject, sql`${pattern}`, isNegated);
  return matchBySize(subject, sql`${pattern}`, { likeBytesMax: 1_024, isNegated });
}

/** Matches texts of up to `likeBytesMax` by SQLite's LIKE, and larger ones by a function that is slower, but checks the deadline. */
function matchBySize(
  subject: Term,
  pattern: Sql,
  { likeBytesMax, isNegated }: { readonly likeBytesMax: number; readonly isNegated: boolean },
): Sql {
  const text = textOf(subject);
  // What JSON holds is no longer than the JSON.
  const whole = isOperand(subject) ? subject.sql : text;
  const matches = sql`${identifier(likeFunction.name)}(CAST(${text} AS BLOB), ${pattern})`;
  return sql`CASE WHEN octet_length(${whole}) > ${likeBytesMax} THEN ${isNegated ? sql`NOT ${matches}` : matches} ELSE ${matchByLike(subject, pattern, isNegated)} END`;
}

function matchByLike(subject: Term, pattern: Sql, isNegated: boolean): Sql {
  return sql`${textOf(subject)} ${isNegated ? sql`NOT LIKE` : sql`LIKE`} ${pattern} ESCAPE '\\'`;
}

/** Beside a text, converts a json value to text explicitly: the affinity would write a number as this version of SQLite does. */
function valueBeside(term: Term, other: Term): Sql {
  const isBesideText = isOperand(other) && (other.kind === 'text' || other.kind === 'date');
  return isBesideText && isOperand(term) && term.kind === 'json' ? textOf(term) : valueOf(term);
}
