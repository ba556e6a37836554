import { attached } from '../base/cache.ts';
import type { Collection } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { fieldColumn } from '../fields/field.ts';
import { joinSql, type Sql, sql, withValues } from '../sql/sql.ts';
import type { Names } from '../storage/database.ts';

const columnsKey = Symbol('inline columns');

/** Returns the columns of a record that is not stored, for a SELECT without FROM. Values are in the order of the collection's fields. */
export function inlineColumns(collection: Collection, values: readonly StoredValue[], names: Names): Sql {
  return withValues(inlineForm(collection, names), inlineValues(collection, values));
}

/** As {@link inlineColumns}, with placeholders: one text for all records of a definition. */
export function inlineForm(collection: Collection, names: Names): Sql {
  return attached(collection, columnsKey, () => {
    const columns = collection.fields.map(
      (field) =>
        sql`${names.dialect.typed(fieldColumn(field) ?? 'text', null)} AS ${names.column(field.name)}`,
    );
    return joinSql(columns, ', ');
  });
}

/** The values for the placeholders. */
export function inlineValues({ fields }: Collection, values: readonly StoredValue[]): readonly StoredValue[] {
  return fields.map((_, index) => values[index] ?? null);
}
