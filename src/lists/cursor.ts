import type { Dialect } from '../filters/dialect.ts';
import type { SortTerm } from '../filters/compile-sort.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Tuple } from '../storage/database.ts';
import { parameterError } from './parameter-error.ts';

/**
 * Seals a position into a text that only the service can read, for one list, order and caller. `open` returns undefined for any
 * other text.
 */
export interface CursorSealer {
  seal(position: string): string;
  open(cursor: string): string | undefined;
}

/** The values of the sort keys in the last row that was shown; the last one is its hidden position. */
type Position = readonly (string | number | null)[];

/** A cursor is part of a URL, and headers are limited to 16 KiB. */
const positionLengthMax = 4_096;

/** Returns what is selected besides the columns, to make the next cursor. Throws `bad_request` for an order that cursors do not support. */
export function cursorColumns(terms: readonly SortTerm[]): readonly Sql[] {
  return terms.map(({ operand }) => {
    if (operand === undefined) throw parameterError('cursor', 'A cursor cannot follow a random order.');
    if (operand.kind === 'json')
      throw parameterError('cursor', 'A cursor cannot follow an order by json values.');
    return operand.sql;
  });
}

/** Returns the cursor that continues after a row, whose last values are those of `cursorColumns`. */
export function sealCursor(tuple: Tuple, terms: readonly SortTerm[], sealer: CursorSealer): string {
  const values = tuple.slice(-terms.length);
  const position = JSON.stringify(values.map((value) => (typeof value === 'bigint' ? Number(value) : value)));
  if (position.length > positionLengthMax)
    throw parameterError('cursor', 'A cursor cannot follow an order by values this long.');
  return sealer.seal(position);
}

/** Returns the condition that a row comes after the cursor; undefined for an empty one, which is the beginning. Throws `bad_request`. */
export function afterCursor(
  cursor: string,
  terms: readonly SortTerm[],
  { sealer, dialect }: { readonly sealer: CursorSealer; readonly dialect: Dialect },
): Sql | undefined {
  if (cursor === '') return undefined;
  const text = sealer.open(cursor);
  // Only sealCursor above makes what can be opened.
  const position = text === undefined ? undefined : (JSON.parse(text) as Position);
  if (position === undefined || !isPositionOf(terms, position))
    throw parameterError(
      'cursor',
      'Expected a cursor of this list, with the same filter and sort as before.',
    );
  return afterPosition(terms, position, dialect);
}

/**
 * Whether the values fit the sort keys. A name may now belong to a field of another type, which an engine would not compare with
 * the value.
 */
function isPositionOf(terms: readonly SortTerm[], position: Position): boolean {
  return terms.every(({ operand }, index) => {
    const value = position[index] ?? null;
    const isText = operand?.kind === 'text' || operand?.kind === 'date';
    return value === null || isText === (typeof value === 'string');
  });
}

function afterPosition(
  [term, ...rest]: readonly SortTerm[],
  [value = null, ...values]: Position,
  dialect: Dialect,
): Sql {
  const operand = term?.operand;
  if (term === undefined || operand === undefined) return sql`FALSE`;
  // The tie-breaker is an integer column. It is compared without a cast, so that its index is used.
  if (rest.length === 0)
    return term.isDescending ? sql`${operand.sql} < ${value}` : sql`${operand.sql} > ${value}`;
  const behind = afterPosition(rest, values, dialect);
  const equal = dialect.compare(operand, value === null ? 'IS' : '=', value);
  const strictly = strictlyAfter(term, operand, { value, dialect });
  const either = sql`(${strictly} OR (${equal} AND ${behind}))`;
  if (operand.isNeverNull !== true || value === null) return either;
  // The bound on the first key is repeated by itself, because an index scan can begin there.
  return sql`(${dialect.compare(operand, term.isDescending ? '<=' : '>=', value)} AND ${either})`;
}

/** Returns the condition that a row comes after `value` by this key. NULL comes first, and last when descending. */
function strictlyAfter(
  { isDescending }: SortTerm,
  operand: NonNullable<SortTerm['operand']>,
  { value, dialect }: { readonly value: string | number | null; readonly dialect: Dialect },
): Sql {
  if (!isDescending) {
    return value === null ? dialect.compare(operand, 'IS NOT', null) : dialect.compare(operand, '>', value);
  }
  if (value === null) return sql`FALSE`;
  const smaller = dialect.compare(operand, '<', value);
  return operand.isNeverNull === true
    ? smaller
    : sql`(${smaller} OR ${dialect.compare(operand, 'IS', null)})`;
}
