import { assert } from '../base/assert.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Comparator, Dialect, LikeMatch } from './dialect.ts';
import { filterLimits } from './filter-limits.ts';
import { isOperand, type Operand, type Term } from './operand.ts';

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
  lower: (operand) => ({ sql: sql`lower(${textOf(operand)})`, kind: 'text' }),
  each: (list, alias) => sql`json_each(${list}) AS ${alias}`,
  // The cast gives it the affinity that a column of texts has.
  valueOfEach: (alias) => ({ sql: sql`CAST(${alias}.value AS TEXT)`, kind: 'text' }),
  length: (list) => ({ sql: sql`CAST(COALESCE(json_array_length(${list}), 0) AS REAL)`, kind: 'number' }),
};

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

function valueOf(term: Term): Sql {
  if (!isOperand(term)) return sql`${term}`;
  if (term.kind !== 'json') return term.sql;
  return valueInJson(term, (column, path) => sql`json_extract(${column}, ${path})`);
}

function valueInJson(operand: Operand, extract: (column: Sql, path: string) => Sql): Sql {
  // What is not JSON, in a table made by other hands, counts as the text it is instead of failing the query.
  const path = jsonPath(operand.path ?? []);
  const otherwise = path === '$' ? operand.sql : sql`NULL`;
  return sql`CASE WHEN json_valid(${operand.sql}) THEN ${extract(operand.sql, path)} ELSE ${otherwise} END`;
}

function jsonPath(path: readonly (string | number)[]): string {
  let text = '$';
  for (const step of path) {
    // Identifiers of a filter hold no quote, and no escape would be understood inside a path.
    assert(typeof step === 'number' || !/["\\]/.test(step), 'a step of a JSON path holds no quote');
    text += typeof step === 'number' ? `[${step}]` : `."${step}"`;
  }
  return text;
}

function textOf(term: Term): Sql {
  if (!isOperand(term)) return valueOf(term);
  if (term.kind === 'json') return valueInJson(term, textInJson);
  return term.kind === 'number' || term.kind === 'bool' ? numberText(term) : term.sql;
}

function textInJson(column: Sql, path: string): Sql {
  const value = sql`json_extract(${column}, ${path})`;
  return sql`CASE json_type(${column}, ${path}) WHEN 'real' THEN ${realText(value)} ELSE ${value} END`;
}

/** `5`, not `5.0`: a REAL column would otherwise show in a pattern that it is one. */
function numberText({ sql: number }: Operand): Sql {
  const integer = sql`CAST(${number} AS INTEGER)`;
  return sql`CASE WHEN ${number} = ${integer} THEN CAST(${integer} AS TEXT) ELSE ${realText(number)} END`;
}

/** As people write it and as PostgreSQL does: the fewest digits that mean this number, where SQLite itself takes 17. */
function realText(number: Sql): Sql {
  const itself = sql`CAST(${number} AS TEXT)`;
  const [few, more] = [sql`printf('%!.15g', ${number})`, sql`printf('%!.16g', ${number})`];
  // With fewer digits than stand before the point, printf begins to write exponents.
  return sql`CASE WHEN abs(${number}) >= 1e15 AND abs(${number}) < 1e17 THEN ${itself} WHEN ${number} = CAST(${few} AS REAL) THEN ${few} WHEN ${number} = CAST(${more} AS REAL) THEN ${more} ELSE ${itself} END`;
}
