import type { Collection } from '../collections/collection.ts';
import { baseAlias } from '../collections/record-scope.ts';
import { sql } from '../sql/sql.ts';
import type { Reader } from '../storage/database.ts';
import type { AskedRule } from './ask-rule.ts';
import { findRecord } from './find-record.ts';
import { readStatements } from './read-statements.ts';
import { fromTuple, type StoredRecord } from './record.ts';
import { ruleCondition } from './rule-condition.ts';

/** Returns the record with this exact id if the rule is true of it. No rule is asked where `admit` left none. */
export async function findAllowed(
  reader: Reader,
  { collection, id }: { readonly collection: Collection; readonly id: string },
  { rule, context }: AskedRule,
): Promise<StoredRecord | undefined> {
  if (rule === undefined) return findRecord(reader, collection, id);
  const { columns, from } = readStatements(collection, reader.names);
  const [tuple] = await reader.search(
    sql`SELECT ${columns} FROM ${from} WHERE ${baseAlias}.id = ${id} AND ${ruleCondition(context, collection, rule)}`,
  );
  return tuple === undefined ? undefined : fromTuple(collection, tuple);
}
