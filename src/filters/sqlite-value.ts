import { assert } from '../base/assert.ts';
import { realTextFunction } from '../sql/real-text-function.ts';
import { identifier, sql, type Sql } from '../sql/sql.ts';
import { isOperand, type Operand, type Term } from './operand.ts';

/** The value by itself: of json what its path leads to. */
export function valueOf(term: Term): Sql {
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

/** The value as a text, which is what it is for LIKE and beside a text. */
export function textOf(term: Term): Sql {
  if (!isOperand(term)) return valueOf(term);
  if (term.kind === 'json') return valueInJson(term, textInJson);
  return term.kind === 'number' || term.kind === 'bool' ? numberText(term) : term.sql;
}

/** A number, or NULL; what stands in json is not made one. */
export function numberOf(operand: Operand): Sql {
  if (operand.kind !== 'json') return operand.sql;
  const [column, path] = [operand.sql, jsonPath(operand.path ?? [])];
  const isNumber = sql`json_type(${column}, ${path}) IN ('integer', 'real')`;
  return sql`CASE WHEN json_valid(${column}) THEN CASE WHEN ${isNumber} THEN json_extract(${column}, ${path}) END END`;
}

function textInJson(column: Sql, path: string): Sql {
  const value = sql`json_extract(${column}, ${path})`;
  // Of the value and not of the JSON: an integer that SQLite has no room for comes out as a REAL.
  return sql`CASE typeof(${value}) WHEN 'real' THEN ${realText(value)} ELSE ${value} END`;
}

/** `5`, not `5.0`: a REAL column would otherwise show in a pattern that it is one. */
function numberText({ sql: number }: Operand): Sql {
  const integer = sql`CAST(${number} AS INTEGER)`;
  return sql`CASE WHEN ${number} = ${integer} THEN CAST(${integer} AS TEXT) ELSE ${realText(number)} END`;
}

/** With the fewest digits that mean this number, where SQLite itself takes 17. */
function realText(number: Sql): Sql {
  return sql`${identifier(realTextFunction.name)}(${number})`;
}
