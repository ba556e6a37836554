import type { Collection } from '../collections/collection.ts';
import type { IndexDefinition } from '../collections/index-definition.ts';
import { conditionOperators, indexedField } from '../collections/index-sql.ts';
import { fieldColumn, hasColumn, type Field } from '../fields/field.ts';
import { fieldType } from '../fields/field-types.ts';
import { toText } from '../fields/to-text.ts';
import { identifier, sql, type Sql } from '../sql/sql.ts';
import type { ForeignSqlite } from '../storage/sqlite/foreign-sqlite.ts';
import type { Omissions } from './omissions.ts';
import type { PlannedCollection } from './plan-import.ts';

/**
 * Reports records of the source that are equal under a unique index, which the source itself need not enforce: an import would stop
 * at them. Runs one query per index on the values as stored, so two notations of the same date are not found.
 */
export function tellOfEqualRecords(
  database: ForeignSqlite,
  { source, collection }: PlannedCollection,
  omissions: Omissions,
): void {
  const known = database.columnsOf(source.name) ?? [];
  for (const index of [byId, ...collection.indexes.filter(({ isUnique }) => isUnique)]) {
    const fields = index.columns.map(({ name }) => indexedField(collection, name));
    // Token keys are kept with the secrets, which have no such index.
    if (!fields.every(hasColumn)) continue;
    const question = questionOf(collection, index, known);
    for (const [id] of database.equalRows(source.name, question))
      omissions.add({
        kind: 'to look at',
        of: collection.name,
        what: fields.map(({ name }) => name).join(', '),
        why: 'Several records are equal in this, of which a unique index admits one: an import would stop.',
        record: toText(id ?? ''),
      });
  }
}

const byId: Pick<IndexDefinition, 'columns' | 'where'> = {
  columns: [{ name: 'id', isNocase: false, isDescending: false }],
  where: [],
};

function questionOf(
  collection: Collection,
  { columns, where }: Pick<IndexDefinition, 'columns' | 'where'>,
  known: readonly string[],
): Parameters<ForeignSqlite['equalRows']>[1] {
  const valueOf = (name: string): Sql => valueSql(indexedField(collection, name), known);
  const keys = columns.map(({ name, isNocase }) => {
    const isText = ['text', 'json'].includes(fieldColumn(indexedField(collection, name)) ?? '');
    return sql`${valueOf(name)} COLLATE ${isNocase && isText ? sql`NOCASE` : sql`BINARY`}`;
  });
  const conditions = where.map(
    ({ column, operator, value }) => sql`${valueOf(column)} ${conditionOperators[operator]} ${value}`,
  );
  const present = columns.map(({ name }) => sql`${valueOf(name)} IS NOT NULL`);
  const names = [...columns.map(({ name }) => name), ...where.map(({ column }) => column)];
  return { columns: names.filter((name) => known.includes(name)), keys, where: [...conditions, ...present] };
}

/** Replaces NULL by the empty value of the field's type. JSON has none: its NULL equals nothing. */
function valueSql(field: Field, known: readonly string[]): Sql {
  // Every row has an id. Without coalesce the source's index can be used.
  if (field.name === 'id') return identifier('id');
  const column = known.includes(field.name) ? identifier(field.name) : sql`NULL`;
  return sql`coalesce(${column}, ${fieldType(field).zero(field.options)})`;
}
