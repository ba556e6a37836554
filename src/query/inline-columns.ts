import type { Collection } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { fieldColumn } from '../fields/field.ts';
import { joinSql, type Sql, sql } from '../sql/sql.ts';
import type { Names } from '../storage/database.ts';

/** Returns the columns of a record that is not stored, for a SELECT without FROM. Values are in the order of the collection's fields. */
export function inlineColumns(collection: Collection, values: readonly StoredValue[], names: Names): Sql {
  const columns = collection.fields.map(
    (field, index) =>
      sql`${names.dialect.typed(fieldColumn(field) ?? 'text', values[index] ?? null)} AS ${names.column(field.name)}`,
  );
  return joinSql(columns, ', ');
}
