import type { Collection } from '../collections/collection.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Names } from '../storage/database.ts';

/** The statements on a collection's table, put together once per definition; they are run with values by `withValues`. */
export interface RecordStatements {
  readonly table: Sql;
  /** The revision, then every field. */
  readonly columns: Sql;
  /** Values: the id. */
  readonly selectById: Sql;
  /** As `selectById`, for a work that is going to change the record. */
  readonly selectToChange: Sql;
  /** Values: every field. The revision is 1. */
  readonly insert: Sql;
  /** Values: the id. */
  readonly deleteById: Sql;
}

/** By definition: a changed collection is another object, and a definition belongs to one instance. */
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
  const fields = joinSql(
    collection.fields.map((field) => names.column(field.name)),
    ', ',
  );
  const columns = sql`"$revision", ${fields}`;
  const placeholders = joinSql(
    collection.fields.map(() => sql`${null}`),
    ', ',
  );
  const selectById = sql`SELECT ${columns} FROM ${table} WHERE id = ${null}`;
  return {
    table,
    columns,
    selectById,
    selectToChange: sql`${selectById}${names.forUpdate}`,
    insert: sql`INSERT INTO ${table} ("$revision", ${fields}) VALUES (1, ${placeholders})`,
    deleteById: sql`DELETE FROM ${table} WHERE id = ${null}`,
  };
}
