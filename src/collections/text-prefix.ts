import { fieldColumn, type Field } from '../fields/field.ts';
import type { Operand, Prefix } from '../filters/operand.ts';
import { literal, sql, type Sql } from '../sql/sql.ts';
import type { Engine } from '../storage/database.ts';
import type { Collection } from './collection.ts';

/** Code points; at most four bytes each, so that five of them fit into a row of an index. */
export const prefixLength = 128;

/**
 * What an index of PostgreSQL holds of a field's texts, or undefined where it holds all of them: a row of an index ends at
 * 2,704 bytes, and an INSERT with a longer one fails. SQLite's have no such end (docs/decisions/0007).
 */
export function textPrefix(field: Field, column: Sql, engine: Engine): Prefix | undefined {
  if (engine !== 'postgres' || !isLong(field)) return undefined;
  return { sql: prefixOf(column), length: prefixLength, isWhole: lengthMax(field) <= prefixLength };
}

/** The same where an index of the collection is over it: elsewhere it would cost and serve nothing. */
export function indexedPrefix(
  { indexes }: Collection,
  field: Field,
  { column, engine }: { readonly column: Sql; readonly engine: Engine },
): Pick<Operand, 'prefix'> {
  const isIndexed = indexes.some(
    ({ columns, where }) =>
      columns.some(({ name }) => name === field.name) ||
      where.some((condition) => condition.column === field.name),
  );
  // The index by time, which every collection has, is of a text where a definition says so.
  const prefix = isIndexed || field.name === 'created' ? textPrefix(field, column, engine) : undefined;
  return prefix === undefined ? {} : { prefix };
}

/** The same for a value that is no plain column: `lower("title")`. */
export function prefixOf(text: Sql): Sql {
  return sql`left(${text}, ${literal(prefixLength)})`;
}

/** Whether it can hold a text of more than 255 bytes, or could when its options were others. */
function isLong(field: Field): boolean {
  const column = fieldColumn(field);
  if (column !== 'text' && column !== 'json') return false;
  if (field.options['primaryKey'] === true) return false;
  return column === 'json' || !shortTypes.has(field.type);
}

/** Types whose check or normal form keeps every text short, whatever the options. A relation holds the id of a record. */
const shortTypes: ReadonlySet<string> = new Set(['date', 'autodate', 'email', 'relation']);

/** Code points of the longest text that the field takes now. */
function lengthMax(field: Field): number {
  const { max, values } = field.options;
  if (field.type === 'text' && typeof max === 'number' && max > 0) return max;
  if (field.type === 'select' && fieldColumn(field) === 'text' && Array.isArray(values))
    return Math.max(...values.map((value) => String(value).length));
  return Infinity;
}
