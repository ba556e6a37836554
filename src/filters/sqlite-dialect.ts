import { sql, type Sql } from '../sql/sql.ts';
import type { Comparator, Dialect, LikeMatch } from './dialect.ts';
import { filterLimits } from './filter-limits.ts';
import { isOperand, type Term } from './operand.ts';
import { sqliteDistance } from './sqlite-distance.ts';
import { sqliteTime } from './sqlite-time.ts';
import { textOf, valueOf } from './sqlite-value.ts';

/** SQLite's own affinities are the rule here, so that operands must be columns of the declared kind: TEXT, REAL or NUMERIC, INTEGER. */
export const sqliteDialect: Dialect = {
  compare: (left, comparator, right) =>
    sql`${valueBeside(left, right)} ${comparators[comparator]} ${valueBeside(right, left)}`,
  compareCoalesced: (left, comparator, right) =>
    sql`COALESCE(${left.sql}, '') ${comparators[comparator]} COALESCE(${right.sql}, '')`,
  like,
  orderBy: (operand, isDescending) =>
    isDescending ? sql`${valueOf(operand)} DESC` : sql`${valueOf(operand)}`,
  orderRandomly: sql`random()`,
  // Casts give an expression the affinity that a column of its kind has.
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
 * Lists in a column are JSON. But beside `tags = 'x'` SQLite reads 'x' for each other mention of the column, before it has looked
 * whether there is such a row.
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
  // A long pattern from a column would cost what a long one from the client would, and no deadline is checked inside a row.
  return sql`(octet_length(${found}) <= ${filterLimits.patternBytesMax} AND ${textOf(subject)} ${operator} ('%' || ${found} || '%') ESCAPE '\\')`;
}

/** The affinity of a text column would write a number in json with the digits of this version of SQLite. */
function valueBeside(term: Term, other: Term): Sql {
  const isBesideText = isOperand(other) && (other.kind === 'text' || other.kind === 'date');
  return isBesideText && isOperand(term) && term.kind === 'json' ? textOf(term) : valueOf(term);
}
