import type { Collection } from '../collections/collection.ts';
import { baseAlias } from '../collections/record-scope.ts';
import { hasColumn } from '../fields/field.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Names } from '../storage/database.ts';

/** The parts of a SELECT that may join a collection's table with others, made once per definition. */
export interface ReadStatements {
  /** The table under `baseAlias`, by which a RecordScope knows it. */
  readonly from: Sql;
  /** The revision, then every field; NULL for fields that have no column. */
  readonly columns: Sql;
}

/** By definition: a changed collection is a new object, and a definition belongs to one instance. */
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
