import type { Collection } from '../collections/collection.ts';
import { withValues } from '../sql/sql.ts';
import type { Reader } from '../storage/database.ts';
import { recordShape } from './record-shape.ts';
import { fromTuple, type StoredRecord } from './record.ts';

/** A record by its exact id, or undefined. */
export async function findRecord(
  reader: Reader,
  collection: Collection,
  id: string,
): Promise<StoredRecord | undefined> {
  const [tuple] = await reader.tuples(withValues(recordShape(collection).selectById, [id]));
  return tuple === undefined ? undefined : fromTuple(collection, tuple);
}
