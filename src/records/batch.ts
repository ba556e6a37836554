import type { RuleInput } from '../access/rule-input.ts';
import { unreachable } from '../base/assert.ts';
import { AppError } from '../base/errors.ts';
import { ownMember } from '../base/json.ts';
import type { Collection } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import { sql } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';
import { Collision, SkippedStatement } from '../storage/engine-errors.ts';
import {
  createRecord,
  type CreateRecordRequest,
  prepareCreate,
  type PreparedCreate,
} from './create-record.ts';
import { deleteRecord, type DeleteRecordRequest, prepareDelete } from './delete-record.ts';
import { recordTable } from './record-table.ts';
import type { WriteRequest, WriteScope } from './record-write.ts';
import type { StoredRecord } from './record.ts';
import {
  type PreparedUpdate,
  prepareUpdate,
  updateRecord,
  type UpdateRecordRequest,
} from './update-record.ts';
import {
  type PreparedUpsert,
  prepareUpsert,
  upsertRecord,
  type UpsertRecordRequest,
} from './upsert-record.ts';

export interface BatchEntry {
  readonly item: BatchItem;
  /** The input of the item's rule: its own method, query and body, the batch's caller and headers. */
  readonly input: RuleInput;
}

export type BatchResult =
  { readonly kind: 'created' | 'updated'; readonly record: StoredRecord } | { readonly kind: 'deleted' };

/** Which item of a batch failed; its `cause` is what the item would have thrown alone. Nothing of the batch is stored. */
export class BatchItemFailed extends Error {
  override readonly name = 'BatchItemFailed';
  readonly index: number;

  constructor(index: number, cause: unknown) {
    super(`Item ${index} of a batch failed.`, { cause });
    this.index = index;
  }
}

/** A batch whose slow work is done, up to the first item that is rejected. */
export interface PreparedBatch {
  readonly items: readonly PreparedItem[];
  /** On the monotonic clock. Set by the first try: a transaction that is run again gets no more time. */
  deadline: number | undefined;
}

/** A change of a batch with the request that its rules see. */
type PreparedItem = { readonly input: RuleInput } & PreparedChange;

type PreparedChange =
  | { readonly kind: 'create'; readonly prepared: PreparedCreate }
  | { readonly kind: 'update'; readonly prepared: PreparedUpdate }
  | { readonly kind: 'upsert'; readonly prepared: PreparedUpsert }
  | { readonly kind: 'delete'; readonly prepared: DeleteRecordRequest }
  | { readonly kind: 'refused'; readonly error: unknown };

/**
 * Prepares items up to the first that is rejected, whose error is thrown in the transaction. So the error is that of the first bad item,
 * whether it is found before the transaction or in it. Items behind it cost nothing: no password is hashed for them, and no definition
 * is read again.
 */
export async function prepareBatch(
  instance: Instance,
  entries: readonly BatchEntry[],
): Promise<PreparedBatch> {
  const items: PreparedItem[] = [];
  for (const { item, input } of entries) {
    try {
      items.push({ input, ...(await prepareItem({ instance, input }, item)) });
    } catch (error) {
      items.push({ input, kind: 'refused', error });
      break;
    }
  }
  return { items, deadline: undefined };
}

async function prepareItem(request: WriteRequest, item: BatchItem): Promise<PreparedChange> {
  switch (item.kind) {
    case 'create':
      return { kind: item.kind, prepared: await prepareCreate(request, item) };
    case 'update':
      return { kind: item.kind, prepared: await prepareUpdate(request, item) };
    case 'upsert':
      return { kind: item.kind, prepared: await prepareUpsert(request, item) };
    case 'delete':
      return { kind: item.kind, prepared: await prepareDelete(request, item) };
    case 'refused':
      throw item.error;
    default:
      return unreachable(item);
  }
}

/**
 * Makes all changes of a batch or none, each seeing what those before it did. Throws BatchItemFailed, and bad_request when it takes too
 * long.
 */
export async function runBatch(
  instance: Instance,
  tx: Transaction,
  batch: PreparedBatch,
): Promise<readonly BatchResult[]> {
  batch.deadline ??= instance.clock.monotonic() + instance.settings.current.batch.timeout * 1_000;
  const requireInTime = requireBefore(instance, batch.deadline);
  await lockBatch(tx, instance, batch.items);
  const results: BatchResult[] = [];
  const run = async ({ item, index }: NumberedItem): Promise<void> => {
    requireInTime();
    try {
      results[index] = await runItem({ instance, input: item.input, tx }, item);
    } catch (error) {
      requireInTime();
      // Skipped for the fault of another item, which is the one that failed.
      const isOfItem = !(error instanceof Collision) && !(error instanceof SkippedStatement);
      throw isOfItem ? new BatchItemFailed(index, error) : error;
    }
  };
  // One after the other: each sees what those before it did.
  for (const together of runsOf(instance, batch.items))
    await tx.inOrder(together.map((item) => () => run(item)));
  requireInTime();
  return results;
}

async function runItem(scope: WriteScope, item: PreparedItem): Promise<BatchResult> {
  switch (item.kind) {
    case 'create':
      return { kind: 'created', record: await createRecord(scope, item.prepared) };
    case 'update':
      return { kind: 'updated', record: await updateRecord(scope, item.prepared) };
    case 'upsert': {
      const { isCreated, record } = await upsertRecord(scope, item.prepared);
      return { kind: isCreated ? 'created' : 'updated', record };
    }
    case 'delete':
      await deleteRecord(scope, item.prepared);
      return { kind: 'deleted' };
    case 'refused':
      throw item.error;
    default:
      return unreachable(item);
  }
}

interface NumberedItem {
  readonly item: PreparedItem;
  readonly index: number;
}

/** Groups adjacent items that need no query, so that the next is sent without waiting for an answer. Every other item is a group by itself. */
function runsOf(instance: Instance, items: readonly PreparedItem[]): readonly (readonly NumberedItem[])[] {
  const runs: NumberedItem[][] = [];
  let open: NumberedItem[] | undefined;
  for (const [index, item] of items.entries()) {
    if (!insertsWithoutQueries(instance, item)) {
      runs.push([{ item, index }]);
      open = undefined;
    } else if (open === undefined) runs.push((open = [{ item, index }]));
    else open.push({ item, index });
  }
  return runs;
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
  /** An entry that is no change of a record. It fails when its turn comes, as any other invalid item. */
  | { readonly kind: 'refused'; readonly error: AppError };

interface NamedRecord {
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
  items: readonly PreparedItem[],
): Promise<void> {
  if (!tx.names.isConcurrent) return;
  const named = new Map<string, NamedRecord>();
  for (const item of items) {
    if (item.kind === 'refused') continue;
    const id = idOf(item);
    const collection = collections.find(item.prepared.collection);
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
function idOf(item: Exclude<PreparedItem, { kind: 'refused' }>): string | undefined {
  if (item.kind === 'update' || item.kind === 'delete') return item.prepared.id;
  const id = item.kind === 'upsert' ? ownMember(item.prepared.body, 'id') : undefined;
  return typeof id === 'string' ? id : undefined;
}

function lock(tx: Transaction, { collection, id, isDeleted }: NamedRecord): Promise<unknown> {
  const { table } = recordTable(collection).statements(tx.names);
  const end = isDeleted ? tx.names.locks.forDelete : tx.names.locks.forUpdate;
  return tx.tuples(sql`SELECT 1 FROM ${table} WHERE id = ${id}${end}`);
}

/**
 * Whether the item creates a record without a query before the INSERT: the caller passes every rule, there is no account to compare with
 * others, and no related record to find. By the definitions as the transaction sees them.
 */
function insertsWithoutQueries({ collections }: Instance, item: PreparedItem): boolean {
  const collection = item.kind === 'create' ? collections.find(item.prepared.collection) : undefined;
  if (collection === undefined || collection.auth !== undefined) return false;
  const isAdmitted = item.input.caller.kind === 'superuser' || collection.rules.createRule === '';
  return isAdmitted && recordTable(collection).relations.length === 0;
}
