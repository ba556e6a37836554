import type { RuleInput } from '../access/rule-input.ts';
import { unreachable } from '../base/assert.ts';
import { AppError } from '../base/errors.ts';
import { ownMember } from '../base/json.ts';
import type { Collection } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import { sql } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';
import { Collision, SkippedStatement } from '../storage/engine-errors.ts';
import { type CreateRecordRequest, prepareCreate } from './create-record.ts';
import { type DeleteRecordRequest, prepareDelete } from './delete-record.ts';
import { recordTable } from './record-table.ts';
import type { RecordWrite } from './record-write.ts';
import type { StoredRecord } from './record.ts';
import { prepareUpdate, type UpdateRecordRequest } from './update-record.ts';
import { prepareUpsert, type UpsertRecordRequest } from './upsert-record.ts';

export interface BatchEntry {
  readonly item: BatchItem;
  /** What the item's rule may know: its own method, query and body, the batch's caller and headers. */
  readonly input: RuleInput;
}

export type BatchResult =
  { readonly kind: 'created' | 'updated'; readonly record: StoredRecord } | { readonly kind: 'deleted' };

/** Which item of a batch failed; its `cause` is what the item would have thrown alone. Nothing of the batch is kept. */
export class BatchItemFailed extends Error {
  override readonly name = 'BatchItemFailed';
  readonly index: number;

  constructor(index: number, cause: unknown) {
    super(`Item ${index} of a batch failed.`, { cause });
    this.index = index;
  }
}

/**
 * Prepares a batch: all changes are made or none, each seeing what those before it did. The write throws BatchItemFailed, and
 * bad_request when it takes too long.
 */
export async function prepareBatch(
  instance: Instance,
  entries: readonly BatchEntry[],
): Promise<RecordWrite<readonly BatchResult[]>> {
  const items = await prepareItems(instance, entries);
  let deadline: number | undefined;
  return async (tx) => {
    // Counted from the first try: a transaction that is run again gets no more time.
    deadline ??= instance.clock.monotonic() + instance.settings.current.batch.timeout * 1_000;
    const requireInTime = requireBefore(instance, deadline);
    await lockBatch(
      tx,
      instance,
      entries.slice(0, items.length).map(({ item }) => item),
    );
    const results: BatchResult[] = [];
    const run = async ({ write, index }: NumberedItem): Promise<void> => {
      requireInTime();
      try {
        results[index] = await write(tx);
      } catch (error) {
        requireInTime();
        // Skipped for the fault of another item, which is the one that failed.
        const isOfItem = !(error instanceof Collision) && !(error instanceof SkippedStatement);
        throw isOfItem ? new BatchItemFailed(index, error) : error;
      }
    };
    // One after the other: each sees what those before it did.
    for (const together of runsOf(items)) await tx.inOrder(together.map((item) => () => run(item)));
    requireInTime();
    return results;
  };
}

interface PreparedItem {
  readonly write: RecordWrite<BatchResult>;
  /**
   * Whether the next item may be sent without waiting for this one's answer. Asked in the transaction, of the definitions as they
   * are then.
   */
  readonly asksNothing: () => boolean;
}

interface NumberedItem extends PreparedItem {
  readonly index: number;
}

/** Groups adjacent items that ask nothing; every other item is a group by itself. */
function runsOf(items: readonly PreparedItem[]): readonly (readonly NumberedItem[])[] {
  const runs: NumberedItem[][] = [];
  let open: NumberedItem[] | undefined;
  for (const [index, item] of items.entries()) {
    const numbered = { ...item, index };
    if (!item.asksNothing()) {
      runs.push([numbered]);
      open = undefined;
    } else if (open === undefined) runs.push((open = [numbered]));
    else open.push(numbered);
  }
  return runs;
}

/**
 * Prepares items up to the first that is refused, whose error is thrown again in the transaction. So the error is that of the
 * first bad item, whether it is found before the transaction or in it. Items behind it cost nothing: no password is hashed for
 * them, and no definition is read again.
 */
async function prepareItems(
  instance: Instance,
  entries: readonly BatchEntry[],
): Promise<readonly PreparedItem[]> {
  const items: PreparedItem[] = [];
  for (const { item, input } of entries) {
    try {
      const write = await prepareItem(instance, { item, input });
      const isCreate = item.kind === 'create';
      items.push({
        write,
        asksNothing: () => isCreate && insertsWithoutQueries(instance, input, item.collection),
      });
    } catch (error) {
      const write = (): never => {
        throw error;
      };
      items.push({ write, asksNothing: () => false });
      break;
    }
  }
  return items;
}

async function prepareItem(
  instance: Instance,
  { item, input }: BatchEntry,
): Promise<RecordWrite<BatchResult>> {
  switch (item.kind) {
    case 'create': {
      const write = await prepareCreate(instance, input, item);
      return async (tx) => ({ kind: 'created', record: await write(tx) });
    }
    case 'update': {
      const write = await prepareUpdate(instance, input, item);
      return async (tx) => ({ kind: 'updated', record: await write(tx) });
    }
    case 'upsert': {
      const write = await prepareUpsert(instance, input, item);
      return async (tx) => {
        const { isCreated, record } = await write(tx);
        return { kind: isCreated ? 'created' : 'updated', record };
      };
    }
    case 'delete': {
      const write = await prepareDelete(instance, input, item);
      return async (tx) => {
        await write(tx);
        return { kind: 'deleted' };
      };
    }
    case 'refused':
      throw item.error;
    default:
      return unreachable(item);
  }
}

/** Returns a check that throws bad_request once the monotonic clock has passed the deadline. */
function requireBefore({ clock }: Instance, deadline: number): () => void {
  return () => {
    if (clock.monotonic() > deadline) throw new AppError('bad_request', 'Batch transaction failed.');
  };
}

/** One of the changes that a batch makes. */
export type BatchItem =
  | ({ readonly kind: 'create' } & CreateRecordRequest)
  | ({ readonly kind: 'update' } & UpdateRecordRequest)
  | ({ readonly kind: 'upsert' } & UpsertRecordRequest)
  | ({ readonly kind: 'delete' } & DeleteRecordRequest)
  /** An entry that is no change of a record. It fails when its turn comes, as any other item that cannot be done. */
  | { readonly kind: 'refused'; readonly error: AppError };

interface Named {
  readonly collection: Collection;
  readonly id: string;
  readonly isDeleted: boolean;
}

/**
 * Locks the records that a batch names, in one order for all batches. Two batches that change the same records in opposite orders
 * would otherwise deadlock, and again when they are retried. Does nothing on SQLite, which has one writer.
 */
async function lockBatch(
  tx: Transaction,
  { collections }: Instance,
  items: readonly BatchItem[],
): Promise<void> {
  if (!tx.names.isConcurrent) return;
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
  const { table } = recordTable(collection).statements(tx.names);
  const end = isDeleted ? tx.names.forDelete : tx.names.forUpdate;
  return tx.tuples(sql`SELECT 1 FROM ${table} WHERE id = ${id}${end}`);
}

/**
 * True when this caller can create a record of this collection (name or id) without a query before the INSERT: no rule is left to
 * ask, there is no account to compare with others, and no related record to find.
 */
function insertsWithoutQueries({ collections }: Instance, input: RuleInput, nameOrId: string): boolean {
  const collection = collections.find(nameOrId);
  if (collection === undefined || collection.auth !== undefined) return false;
  const isAdmitted = input.caller.kind === 'superuser' || collection.rules.createRule === '';
  return isAdmitted && recordTable(collection).relations.length === 0;
}
