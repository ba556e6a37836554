import type { Collection } from '../collections/collection.ts';
import { withValues } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';
import { recordStatements } from './record-statements.ts';
import { fromTuple, type StoredRecord } from './record.ts';

/** A record by its exact id, or undefined. */
export async function findRecord(
  reader: Reader,
  collection: Collection,
  id: string,
): Promise<StoredRecord | undefined> {
  const { selectById } = recordStatements(collection, reader.names);
  const [tuple] = await reader.tuples(withValues(selectById, [id]));
  return tuple === undefined ? undefined : fromTuple(collection, tuple);
}

/** As {@link findRecord}; the row stays as it was read until the transaction is over. */
export async function findRecordToChange(
  tx: Transaction,
  collection: Collection,
  id: string,
): Promise<StoredRecord | undefined> {
  const { selectToChange } = recordStatements(collection, tx.names);
  const [tuple] = await tx.tuples(withValues(selectToChange, [id]));
  return tuple === undefined ? undefined : fromTuple(collection, tuple);
}
