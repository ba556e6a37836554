import type { Collection } from '../collections/collection.ts';
import { RecordScope, baseAlias, type ScopeContext } from '../collections/record-scope.ts';
import type { FilterTree } from '../filters/tree.ts';
import { sql } from '../sql/sql.ts';
import type { Reader } from '../storage/database.ts';
import { findRecord } from './find-record.ts';
import { readStatements } from './read-statements.ts';
import { fromTuple, type StoredRecord } from './record.ts';

/** A record by its exact id if the rule, as far as `admit` left one, is true of it. */
export async function findAllowed(
  reader: Reader,
  { collection, id }: { readonly collection: Collection; readonly id: string },
  asked: { readonly rule: FilterTree | undefined; readonly context: ScopeContext },
): Promise<StoredRecord | undefined> {
  if (asked.rule === undefined) return findRecord(reader, collection, id);
  const scope = new RecordScope(asked.context, { collection, alias: baseAlias });
  scope.addRule(asked.rule);
  const { columns, from } = readStatements(collection, reader.names);
  const [tuple] = await reader.search(
    sql`SELECT ${columns} FROM ${from} WHERE ${baseAlias}.id = ${id} AND ${scope.condition ?? sql`TRUE`}`,
  );
  return tuple === undefined ? undefined : fromTuple(collection, tuple);
}
