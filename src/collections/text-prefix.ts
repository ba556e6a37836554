import { fieldColumn, type Field } from '../fields/field.ts';
import type { Operand, Prefix } from '../filters/operand.ts';
import { literal, sql, type Sql } from '../sql/sql.ts';
import type { Engine } from '../storage/database.ts';
import type { Collection } from './collection.ts';

/** Code points of a prefix. Each has at most four bytes, so that five prefixes fit into an index row. */
export const prefixLength = 128;

/**
 * Returns the part of a field's texts that an index on PostgreSQL holds; undefined where it holds the whole text. An index row is
 * limited to 2,704 bytes, and an INSERT of a longer one fails. SQLite has no such limit (docs/decisions/0007).
 */
export function textPrefix(field: Field, column: Sql, engine: Engine): Prefix | undefined {
  if (engine !== 'postgres' || !isLong(field)) return undefined;
  return { sql: prefixOf(column), length: prefixLength, isWhole: lengthMax(field) <= prefixLength };
}

/** Returns the prefix where an index of the collection covers the field. Elsewhere it would only cost time. */
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
  // Every collection has an index on `created`, which a definition may make a text field.
  const prefix = isIndexed || field.name === 'created' ? textPrefix(field, column, engine) : undefined;
  return prefix === undefined ? {} : { prefix };
}

/** Returns the prefix of any text expression, such as `lower("title")`. */
export function prefixOf(text: Sql): Sql {
  return sql`left(${text}, ${literal(prefixLength)})`;
}

/** Whether the field can hold a text of more than 255 bytes, or could under earlier options. */
function isLong(field: Field): boolean {
  const column = fieldColumn(field);
  if (column !== 'text' && column !== 'json') return false;
  if (field.options['primaryKey'] === true) return false;
  return column === 'json' || !shortTypes.has(field.type);
}

/** Types whose check or normal form keeps every text short, whatever the options. A relation holds an id. */
const shortTypes: ReadonlySet<string> = new Set(['date', 'autodate', 'email', 'relation']);

/** Returns the code points of the longest text that the field accepts now. */
function lengthMax(field: Field): number {
  const { max, values } = field.options;
  if (field.type === 'text' && typeof max === 'number' && max > 0) return max;
  if (field.type === 'select' && fieldColumn(field) === 'text' && Array.isArray(values))
    return Math.max(...values.map((value) => String(value).length));
  return Infinity;
}
