import { sql, type Sql } from '../sql/sql.ts';
import type { Comparator, Dialect, LikeMatch } from './dialect.ts';
import { filterLimits } from './filter-limits.ts';
import { isOperand, type Term } from './operand.ts';
import { sqliteDistance } from './sqlite-distance.ts';
import { sqliteTime } from './sqlite-time.ts';
import { textOf, valueOf } from './sqlite-value.ts';

/** Relies on SQLite's affinities, so operands must be columns of the declared type of their kind: TEXT, REAL or NUMERIC, INTEGER. */
export const sqliteDialect: Dialect = {
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
  geoDistance: sqliteDistance,
  strftime: sqliteTime,
};

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
  const operator = isNegated ? sql`NOT LIKE` : sql`LIKE`;
  if (typeof pattern === 'string') return sql`${textOf(subject)} ${operator} ${pattern} ESCAPE '\\'`;
  const found = textOf(pattern);
  // A long pattern from a column costs as much as a long one from the client, and the deadline is not checked within a row.
  return sql`(octet_length(${found}) <= ${filterLimits.patternBytesMax} AND ${textOf(subject)} ${operator} ('%' || ${found} || '%') ESCAPE '\\')`;
}

/** Beside a text, converts a json value to text explicitly: the affinity would write a number as this version of SQLite does. */
function valueBeside(term: Term, other: Term): Sql {
  const isBesideText = isOperand(other) && (other.kind === 'text' || other.kind === 'date');
  return isBesideText && isOperand(term) && term.kind === 'json' ? textOf(term) : valueOf(term);
}
