import { GenerationMap } from '../base/generation-map.ts';
import type { Collection } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { fieldColumn, hasColumn, type Field } from '../fields/field.ts';
import { joinSql, runTogether, sql, withValues, type Sql } from '../sql/sql.ts';
import type { Names } from '../storage/database.ts';

/** The statements on a collection's table, made once per definition. `withValues` binds their values. */
export interface RecordStatements {
  readonly table: Sql;
  /** The revision, then every field; NULL for fields that have no column. */
  readonly columns: Sql;
  /** Values: the id. */
  readonly selectById: Sql;
  /** As `selectById`, and locks the row for a change. */
  readonly selectToChange: Sql;
  /** Inserts the values of every field, with revision 1. */
  readonly insert: (values: readonly StoredValue[]) => Sql;
  /** Updates the fields at these indexes. Values: the revision, those of the fields, the id. */
  readonly update: (places: readonly number[]) => Sql;
  /** Values: the id. */
  readonly deleteById: Sql;
}

/** Update statements kept per definition. Clients change the same few sets of fields again and again. */
const updatesMax = 32;

/** By definition: a changed collection is a new object, and a definition belongs to one instance. */
const known = new WeakMap<Collection, RecordStatements>();

export function recordStatements(collection: Collection, names: Names): RecordStatements {
  const found = known.get(collection);
  if (found !== undefined) return found;
  const statements = makeStatements(collection, names);
  known.set(collection, statements);
  return statements;
}

function makeStatements(collection: Collection, names: Names): RecordStatements {
  const table = names.collectionTable(collection.name);
  const stored = collection.fields.filter(hasColumn);
  const isStored = stored.length === collection.fields.length ? undefined : collection.fields.map(hasColumn);
  const fields = joinSql(
    stored.map((field) => names.column(field.name)),
    ', ',
  );
  const placeholders = joinSql(
    stored.map((field) => placeholderOf(field, names)),
    ', ',
  );
  const insert = runTogether(
    sql`INSERT INTO ${table} ("$revision", ${fields}) VALUES (1, ${placeholders})`,
    'insert',
  );
  const columns = joinSql(
    [
      sql`"$revision"`,
      ...collection.fields.map((field) => (hasColumn(field) ? names.column(field.name) : sql`NULL`)),
    ],
    ', ',
  );
  const selectById = sql`SELECT ${columns} FROM ${table} WHERE id = ${null}`;
  return {
    table,
    columns,
    selectById: runTogether(selectById, 'lookup'),
    selectToChange: runTogether(sql`${selectById}${names.forUpdate}`, 'lookup'),
    insert: (values) =>
      withValues(insert, isStored === undefined ? values : values.filter((_, index) => isStored[index])),
    update: updatesOf(collection, names, table),
    deleteById: sql`DELETE FROM ${table} WHERE id = ${null}`,
  };
}

function updatesOf(collection: Collection, names: Names, table: Sql): RecordStatements['update'] {
  const made = new GenerationMap<string, Sql>(updatesMax);
  const toUpdate = (places: readonly number[]): Sql => {
    const columns = collection.fields
      .filter((_, index) => places.includes(index))
      .map((field) => sql`${names.column(field.name)} = ${placeholderOf(field, names)}`);
    const set = joinSql([sql`"$revision" = ${null}`, ...columns], ', ');
    return runTogether(sql`UPDATE ${table} SET ${set} WHERE id = ${null}`, 'change');
  };
  return (places) => made.findOrAdd(places.join(), () => toUpdate(places));
}

/**
 * Returns the placeholder for a field's value. PostgreSQL fixes the parameter types of a prepared statement when it prepares the
 * text: after a field is replaced by one of the same name but another type, a session would store `007` as `7`, or fail. A cast
 * on all that is not text makes it another text, which is prepared anew.
 */
function placeholderOf(field: Field, { engine }: Names): Sql {
  if (engine === 'sqlite') return sql`${null}`;
  switch (fieldColumn(field)) {
    case 'number':
      return sql`${null}::double precision`;
    case 'bool':
      return sql`${null}::smallint`;
    default:
      return sql`${null}`;
  }
}
