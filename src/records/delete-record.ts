import { admit, isLocked } from '../access/rule.ts';
import { AppError, notFound } from '../base/errors.ts';
import { superusersName } from '../collections/collection.ts';
import { sql } from '../sql/sql.ts';
import { requireAnotherSuperuser } from './check-account.ts';
import { boundRule, isAllowed } from './check-rule.ts';
import { findRecordToDelete } from './find-record.ts';
import { recordTable } from './record-table.ts';
import {
  type ExpectedRevision,
  requireExpected,
  type WriteRequest,
  writtenCollection,
  type WriteScope,
} from './record-write.ts';
import type { StoredRecord } from './record.ts';
import {
  referringRecord,
  idOf,
  mayRefer,
  type Referring,
  referringTo,
  saveReduced,
  stillReferred,
  withoutReference,
} from './release-references.ts';
import { eraseRecord } from './save-record.ts';

export interface DeleteRecordRequest {
  readonly collection: string;
  readonly id: string;
  readonly expected?: ExpectedRevision | undefined;
}

/** Runs the checks that need no transaction. Throws not_found (collection), forbidden (null rule). */
export async function prepareDelete(
  { instance, input }: WriteRequest,
  request: DeleteRecordRequest,
): Promise<DeleteRecordRequest> {
  const { caller } = input;
  const collection = await writtenCollection(instance, request.collection, (candidate) =>
    isLocked(candidate, ['deleteRule'], caller),
  );
  admit(collection, 'deleteRule', caller);
  return request;
}

/**
 * Deletes a record; its event carries the last state. Throws not_found (collection, record), forbidden (null rule),
 * precondition_failed, bad_request (references).
 */
export async function deleteRecord(scope: WriteScope, prepared: DeleteRecordRequest): Promise<void> {
  await removeRecord(scope, await findDeletable(scope, prepared));
}

/** Locks and returns the record if the caller may delete it. Throws not_found, forbidden, precondition_failed. */
export async function findDeletable(scope: WriteScope, request: DeleteRecordRequest): Promise<StoredRecord> {
  const { instance, input, tx } = scope;
  const collection = instance.collections.get(request.collection);
  const deleteRule = admit(collection, 'deleteRule', input.caller);
  const existing = await findRecordToDelete(tx, collection, request.id);
  if (existing === undefined) throw notFound();
  if (!(await isAllowed(tx, boundRule(scope, collection, deleteRule), request.id))) throw notFound();
  requireExpected(request.expected, existing);
  return existing;
}

/** How many referring records one delete may change or delete: on SQLite all other writers wait meanwhile. */
export const touchedMax = 1_000;

/** One delete with the changes that it causes. */
interface Removal extends WriteScope {
  /** Keys of the records whose delete has begun. They may refer to each other in circles, or to themselves, and are deleted together. */
  readonly leaving: Set<string>;
  touched: number;
}

/**
 * Deletes a record, whose row the caller has locked, with its event. Before that its id is taken out of each record that refers
 * to it, without validation; one that is left without any id is deleted too, if its relation says so (`cascadeDelete`). Throws
 * bad_request, and deletes nothing, when a required relation would be left empty, or when too many records refer to it.
 */
function removeRecord(scope: WriteScope, record: StoredRecord): Promise<void> {
  return remove({ ...scope, leaving: new Set(), touched: 0 }, record);
}

async function remove(removal: Removal, record: StoredRecord): Promise<void> {
  removal.leaving.add(keyOf(record));
  for (const referring of referringTo(removal.instance, record.collection))
    await release(removal, record, referring);
  if (record.collection.name === superusersName) await requireAnotherSuperuser(removal.tx);
  await eraseRecord(removal, record);
}

/**
 * Reads the ids first and then the records one by one: each may be large, and the change of one may change or delete the next.
 */
async function release(removal: Removal, record: StoredRecord, referring: Referring): Promise<void> {
  const { collection, relations } = referring;
  for (const id of await referringIds(removal, idOf(record), referring)) {
    const other = await findRecordToDelete(removal.tx, collection, id);
    if (other === undefined) continue;
    const change = withoutReference(other, relations, idOf(record));
    if (change === undefined) continue;
    removal.touched += 1;
    if (change === 'delete') await remove(removal, other);
    else if (change.kind === 'refused') throw await stillReferred(removal, referringRecord(other), change);
    else await saveReduced(removal, other, change);
  }
}

/**
 * Returns the ids of records that may refer to this one and are not being deleted themselves. They only may, because an id is
 * searched for in the text of a multiple value.
 */
async function referringIds(
  { tx, leaving, touched }: Removal,
  id: string,
  { collection, relations }: Referring,
): Promise<readonly string[]> {
  const { table } = recordTable(collection).statements(tx.names);
  // A bound value, where `limit` would write the number into the text: it differs each time.
  const select = sql`
    SELECT id FROM ${table} WHERE ${mayRefer(tx.names, relations, id)}
    ORDER BY "$position" LIMIT CAST(${touchedMax + leaving.size + 1} AS bigint)`;
  const rows = await tx.search(select, { isExempt: true });
  const ids = rows.map(([each]) => String(each)).filter((each) => !leaving.has(`${collection.id}/${each}`));
  if (touched + ids.length > touchedMax) throw new TooManyReferring();
  return ids;
}

/** Too many records refer to a record for one transaction. Outside of a batch it is deleted in steps. */
export class TooManyReferring extends AppError {
  constructor() {
    super(
      'bad_request',
      `Failed to delete record. More than ${touchedMax} records refer to it, directly or through others, which is too much for one transaction.`,
    );
  }
}

function keyOf(record: StoredRecord): string {
  return `${record.collection.id}/${idOf(record)}`;
}
