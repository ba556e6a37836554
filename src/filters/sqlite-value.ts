import { assert } from '../base/assert.ts';
import { identifier, realTextFunction, sql, type Sql } from '../sql/sql.ts';
import { isOperand, type Operand, type Term } from './operand.ts';

/** Returns the value with its own kind; for json the value at its path. */
export function valueOf(term: Term): Sql {
  if (!isOperand(term)) return sql`${term}`;
  if (term.kind !== 'json') return term.sql;
  return valueInJson(term, (column, path) => sql`json_extract(${column}, ${path})`);
}

function valueInJson(operand: Operand, extract: (column: Sql, path: string) => Sql): Sql {
  // In a table that another program made, invalid JSON counts as a text instead of failing the query.
  const path = jsonPath(operand.path ?? []);
  const otherwise = path === '$' ? operand.sql : sql`NULL`;
  return sql`CASE WHEN json_valid(${operand.sql}) THEN ${extract(operand.sql, path)} ELSE ${otherwise} END`;
}

/** Returns the value of a json operand as JSON. */
export function jsonText({ sql: column, path }: Operand): Sql {
  // As in valueInJson: anything that is not JSON is a text.
  const otherwise = path === undefined || path.length === 0 ? sql`json_quote(${column})` : sql`NULL`;
  return sql`CASE WHEN json_valid(${column}) THEN ${column} -> ${jsonPath(path ?? [])} ELSE ${otherwise} END`;
}

function jsonPath(path: readonly (string | number)[]): string {
  let text = '$';
  for (const step of path) {
    // Identifiers of a filter contain no quotes, which could not be escaped in a JSON path of SQLite.
    assert(typeof step === 'number' || !/["\\]/.test(step), 'a step of a JSON path holds no quote');
    text += typeof step === 'number' ? `[${step}]` : `."${step}"`;
  }
  return text;
}

/** Returns the value as a text: for LIKE, and for comparisons with a text. */
export function textOf(term: Term): Sql {
  if (!isOperand(term)) return valueOf(term);
  if (term.kind === 'json') return valueInJson(term, textInJson);
  return term.kind === 'number' || term.kind === 'bool' ? numberText(term) : term.sql;
}

/** Returns the value if it is a number, else NULL; other json values are not converted. */
export function numberOf(operand: Operand): Sql {
  if (operand.kind !== 'json') return operand.sql;
  const [column, path] = [operand.sql, jsonPath(operand.path ?? [])];
  const isNumber = sql`json_type(${column}, ${path}) IN ('integer', 'real')`;
  return sql`CASE WHEN json_valid(${column}) THEN CASE WHEN ${isNumber} THEN json_extract(${column}, ${path}) END END`;
}

/** Returns the number of values in a list; 0 or NULL for all else. */
export function lengthIn({ sql: column, path = [] }: Operand): Sql {
  return sql`CASE WHEN json_valid(${column}) THEN json_array_length(${column}, ${jsonPath(path)}) END`;
}

function textInJson(column: Sql, path: string): Sql {
  const value = sql`json_extract(${column}, ${path})`;
  // Goes by the type of the extracted value: an integer in JSON that exceeds 64 bits is extracted as a REAL.
  return sql`CASE typeof(${value}) WHEN 'real' THEN ${realText(value)} ELSE ${value} END`;
}

/** Writes a whole number of a REAL column as `5`, not `5.0`, which patterns would otherwise have to match. */
function numberText({ sql: number }: Operand): Sql {
  const integer = sql`CAST(${number} AS INTEGER)`;
  return sql`CASE WHEN ${number} = ${integer} THEN CAST(${integer} AS TEXT) ELSE ${realText(number)} END`;
}

/** Writes the fewest digits that read back as this number; SQLite itself takes 17. */
function realText(number: Sql): Sql {
  return sql`${identifier(realTextFunction.name)}(${number})`;
}
