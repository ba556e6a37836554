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
 * Tells of records of the source that a unique index does not admit, as it does not hold them to it itself: the import would stop
 * at them. One question of the file for each index, of the values as they stand there: two ways to write one date are not seen.
 */
export function tellOfEqualRecords(
  database: ForeignSqlite,
  { source, collection }: PlannedCollection,
  omissions: Omissions,
): void {
  const known = database.columnsOf(source.name) ?? [];
  for (const index of [byId, ...collection.indexes.filter(({ isUnique }) => isUnique)]) {
    const fields = index.columns.map(({ name }) => indexedField(collection, name));
    // Token keys are kept among the secrets, where no index is over them.
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

/** What is not there becomes the empty value of its type; only JSON has none, and is equal to nothing then. */
function valueSql(field: Field, known: readonly string[]): Sql {
  // Every row that is asked about has one: as it is, the index of the file serves it.
  if (field.name === 'id') return identifier('id');
  const column = known.includes(field.name) ? identifier(field.name) : sql`NULL`;
  return sql`coalesce(${column}, ${fieldType(field).zero(field.options)})`;
}
