import type { Dialect } from '../filters/dialect.ts';
import type { Operand, OperandKind, Resolve } from '../filters/operand.ts';
import type { FilterTree } from '../filters/parse.ts';
import type { SortTerm } from '../filters/compile/sort.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Reader, Tuple } from '../storage/database.ts';
import type { InternalTable } from '../storage/internal-table.ts';
import { parameterError } from './list-parameters.ts';

/** The table that is listed, and the rows of it that the caller may see. */
export interface ListSource {
  /** What follows SELECT: the columns of the tuples. */
  readonly columns: Sql;
  /** What follows FROM. */
  readonly from: Sql;
  /** What must hold besides the filter: the list rule, the owner of the rows. */
  readonly where?: Sql;
  /** The condition that ends a search which takes too long; undefined where the engine does so by itself. */
  readonly isInTime?: Sql;
  /** The hidden position: unique and never null. It is the default order and the last key of every other. */
  readonly tieBreaker: Operand;
  /** Orders rows with the same position, where several may have it. */
  readonly tieBreakerEnd?: Operand;
  /** Whether a query makes the rows, which may take long and has an order of its own. */
  readonly isView?: true;
  /** Resolves the names in the sort and, without a scope, those in the filter. */
  readonly resolve: Resolve;
  /** For a table whose conditions may need joins. */
  readonly scope?: ListScope;
  /** Makes cursors; undefined where a list is read by pages only. */
  readonly sealer?: CursorSealer;
  readonly dialect: Dialect;
  /** The time for macros such as `@now`, in milliseconds since 1970. */
  readonly now: number;
}

/** Collects the conditions on a table's rows, and the joins that they need. */
export interface ListScope {
  /** Returns all conditions, the client's filter among them. To be called once. Throws a filter error. */
  conditionWith(filter: FilterTree | undefined): Sql | undefined;
  /** Returns the joins that follow the table: empty, or with a blank before them. To be called when all names were resolved. */
  joins(): Sql;
}

/** One of the service's own tables, whose `position` is in the order of insertion. */
export interface ListedTable {
  readonly name: InternalTable;
  /** What follows SELECT. */
  readonly columns: Sql;
  readonly resolve: Resolve;
  /** The condition for those of the instance's rows that are listed. */
  readonly where?: Sql;
}

/** Returns the source for a list of an instance's rows in such a table. `now` is in milliseconds since 1970. */
export function tableSource({ names }: Pick<Reader, 'names'>, table: ListedTable, now: number): ListSource {
  const { name, columns, resolve, where } = table;
  const isInTime = names.isInTime(position.sql, 'for every row');
  return {
    columns,
    from: names.table(name),
    where: where === undefined ? names.instance.condition : sql`${names.instance.condition} AND ${where}`,
    ...(isInTime && { isInTime }),
    tieBreaker: position,
    resolve,
    dialect: names.dialect,
    now,
  };
}

const position = column('number', sql`position`);

/** Returns a resolver that knows exactly these names, each with its column: for filters on a plain table. */
export function columnResolver(columns: Readonly<Record<string, Operand>>): Resolve {
  // A Map, because every object also has a member called `constructor`.
  const operands = new Map(Object.entries(columns));
  return (name) => operands.get(name);
}

/** Returns the operand for a NOT NULL column of the listed table. */
export function column(kind: OperandKind, name: Sql): Operand {
  return { sql: name, kind, isNeverNull: true };
}

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

/** Returns the values that are selected besides the columns, to make the next cursor. Throws `bad_request` for an order that cursors do not support. */
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
