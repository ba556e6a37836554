import type { Collection } from '../collections/collection.ts';
import { baseAlias } from '../collections/record-scope.ts';
import { hasColumn } from '../fields/field.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Names } from '../storage/database.ts';

/** The parts of a SELECT on a collection's table beside others, put together once per definition. */
export interface ReadStatements {
  /** The table, under the name that a scope knows it by. */
  readonly from: Sql;
  /** The revision, then every field; null stands for those that have no column. */
  readonly columns: Sql;
}

/** By definition: a changed collection is another object, and a definition belongs to one instance. */
const known = new WeakMap<Collection, ReadStatements>();

export function readStatements(collection: Collection, names: Names): ReadStatements {
  const found = known.get(collection);
  if (found !== undefined) return found;
  const columns = collection.fields.map((field) =>
    hasColumn(field) ? sql`${baseAlias}.${names.column(field.name)}` : sql`NULL`,
  );
  const statements = {
    from: sql`${names.collectionTable(collection.name)} AS ${baseAlias}`,
    columns: joinSql([sql`${baseAlias}."$revision"`, ...columns], ', '),
  };
  known.set(collection, statements);
  return statements;
}
