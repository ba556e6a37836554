import type { Collection } from '../collections/collection.ts';
import { sql, withValues, type Sql } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';
import { recordStatements } from './record-statements.ts';
import { lockAll } from './lock-all.ts';
import { fromTuple, type StoredRecord } from './record.ts';

/** A record by its exact id, or undefined. */
export function findRecord(
  reader: Reader,
  collection: Collection,
  id: string,
): Promise<StoredRecord | undefined> {
  const { selectById } = recordStatements(collection, reader.names);
  return first(reader, collection, withValues(selectById, [id]));
}

/** As {@link findRecord}; the row is locked and stays as it is until the transaction ends. */
export function findRecordToChange(
  tx: Transaction,
  collection: Collection,
  id: string,
): Promise<StoredRecord | undefined> {
  const { selectToChange } = recordStatements(collection, tx.names);
  return findToLock(tx, collection, withValues(selectToChange, [id]));
}

/** As {@link findRecordToChange}; and until the transaction ends no other can begin to refer to the record. */
export function findRecordToDelete(
  tx: Transaction,
  collection: Collection,
  id: string,
): Promise<StoredRecord | undefined> {
  const { selectById } = recordStatements(collection, tx.names);
  return findToLock(tx, collection, withValues(sql`${selectById}${tx.names.forDelete}`, [id]));
}

/** Runs a locking statement whose only value is the id. */
async function findToLock(
  tx: Transaction,
  collection: Collection,
  statement: Sql,
): Promise<StoredRecord | undefined> {
  // One record, which may be large.
  const lock = async (): Promise<StoredRecord | undefined> => {
    const [tuple] = await tx.search(statement, { isNarrow: true });
    return tuple === undefined ? undefined : fromTuple(collection, tuple);
  };
  const locked = await lock();
  if (locked !== undefined) return locked;
  const { selectById } = recordStatements(collection, tx.names);
  return lockAll<StoredRecord | undefined>(tx, undefined, {
    lock,
    isWhole: (record) => record !== undefined,
    look: () => first(tx, collection, withValues(selectById, statement.values)),
  });
}

async function first(
  reader: Reader,
  collection: Collection,
  statement: Sql,
): Promise<StoredRecord | undefined> {
  const [tuple] = await reader.tuples(statement);
  return tuple === undefined ? undefined : fromTuple(collection, tuple);
}
