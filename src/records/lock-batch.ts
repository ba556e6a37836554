import { ownMember } from '../base/json.ts';
import type { Collection } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import { sql } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';
import type { BatchItem } from './batch-item.ts';
import { recordStatements } from './record-statements.ts';

interface Named {
  readonly collection: Collection;
  readonly id: string;
  readonly isDeleted: boolean;
}

/**
 * Locks the records that a batch names, in one order for all batches. Two batches that change the same records in opposite orders
 * would otherwise deadlock, and again when they are retried. Does nothing on SQLite, which has one writer.
 */
export async function lockBatch(
  tx: Transaction,
  { collections }: Instance,
  items: readonly BatchItem[],
): Promise<void> {
  if (tx.names.engine === 'sqlite') return;
  const named = new Map<string, Named>();
  for (const item of items) {
    const id = idOf(item);
    const collection = item.kind === 'refused' ? undefined : collections.find(item.collection);
    if (id === undefined || collection === undefined) continue;
    const key = `${collection.id}/${id}`;
    const isDeleted = item.kind === 'delete' || named.get(key)?.isDeleted === true;
    named.set(key, { collection, id, isDeleted });
  }
  if (named.size < 2) return;
  const inOrder = [...named].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, each]) => each);
  await tx.inOrder(inOrder.map((each) => () => lock(tx, each)));
}

/** Returns the id of the record that the item changes or may change; undefined for a create. */
function idOf(item: BatchItem): string | undefined {
  if (item.kind === 'update' || item.kind === 'delete') return item.id;
  const id = item.kind === 'upsert' ? ownMember(item.body, 'id') : undefined;
  return typeof id === 'string' ? id : undefined;
}

function lock(tx: Transaction, { collection, id, isDeleted }: Named): Promise<unknown> {
  const { table } = recordStatements(collection, tx.names);
  const end = isDeleted ? tx.names.forDelete : tx.names.forUpdate;
  return tx.search(sql`SELECT 1 FROM ${table} WHERE id = ${id}${end}`, { isNarrow: true });
}
