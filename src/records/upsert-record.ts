import { AppError } from '../base/errors.ts';
import { ownMember } from '../base/json.ts';
import type { Collection } from '../collections/collection.ts';
import type { Caller } from '../access/caller.ts';
import { isLocked } from '../access/rule.ts';
import type { Names } from '../storage/database.ts';
import { Collision, UniqueViolation } from '../storage/engine-errors.ts';
import { createRecord } from './create-record.ts';
import { reserveFileKeysOf, reserveFileKeys } from './record-files.ts';
import type { RecordBody } from './decode-record.ts';
import {
  type ExpectedRevision,
  requireExpected,
  type WriteRequest,
  writtenCollection,
  type WriteScope,
} from './record-write.ts';
import { findRecordToChange } from './find-record.ts';
import { type PreparedSecrets, prepareSecrets } from './passwords.ts';
import type { StoredRecord } from './record.ts';
import { updateRecord } from './update-record.ts';

export interface UpsertRecordRequest {
  readonly collection: string;
  /** Its `id` names the record that is updated, or created if there is none. */
  readonly body: RecordBody;
  readonly expected?: ExpectedRevision | undefined;
}

export interface UpsertResult {
  readonly isCreated: boolean;
  readonly record: StoredRecord;
}

/** An upsert whose slow work is done. */
export interface PreparedUpsert extends UpsertRecordRequest {
  readonly secrets: PreparedSecrets;
  readonly newId: string | undefined;
}

/** Prepares to change a record, or to make it. Throws not_found (collection), unavailable (too many passwords to hash). */
export async function prepareUpsert(
  { instance, input }: WriteRequest,
  request: UpsertRecordRequest,
): Promise<PreparedUpsert> {
  const { caller } = input;
  const collection = await writtenCollection(instance, request.collection, (candidate) =>
    mayNotWrite(candidate, caller),
  );
  // Hashing is expensive: not done for a caller who may neither create nor update records.
  const body = mayNotWrite(collection, caller) ? {} : request.body;
  const id = ownMember(request.body, 'id');
  const named = typeof id === 'string' ? { id } : {};
  const secrets = await prepareSecrets(instance, collection, { input, body, ...named });
  const newId = reserveFileKeys(instance, collection, { caller, body });
  // What is wrong with a new record may be right with one that is there.
  if (newId === undefined && typeof id === 'string') reserveFileKeysOf(collection, id, { caller, body });
  return { ...request, secrets, newId };
}

function mayNotWrite(collection: Collection, caller: Caller): boolean {
  return isLocked(collection, ['createRule', 'updateRule'], caller);
}

/**
 * Changes the record that the body names, or makes it. Throws what an update or a create throws, null rules included: only in the
 * transaction is it known which of them it is.
 */
export async function upsertRecord(scope: WriteScope, prepared: PreparedUpsert): Promise<UpsertResult> {
  const { instance, input, tx } = scope;
  const { body, expected } = prepared;
  const id = ownMember(body, 'id');
  const collection = instance.collections.get(prepared.collection);
  // Locked, or another transaction might delete it before it is updated.
  const existing = typeof id === 'string' ? await findRecordToChange(tx, collection, id) : undefined;
  if (
    existing !== undefined &&
    typeof id === 'string' &&
    !isLocked(collection, ['updateRule'], input.caller)
  ) {
    const record = await unlessHidden(updateRecord(scope, { ...prepared, id }));
    if (record !== undefined) return { isCreated: false, record };
  }
  requireExpected(expected, undefined);
  try {
    return { isCreated: true, record: await createRecord(scope, prepared) };
  } catch (error) {
    // Another transaction has created the record since it was looked for. A retry finds it and updates it.
    throw existing === undefined && isTaken(error, tx.names) ? new Collision(error) : error;
  }
}

/**
 * Resolves to undefined for a record that the caller may not change, which is treated as absent: any other answer than for an
 * unknown id would reveal that it exists.
 */
function unlessHidden(update: Promise<StoredRecord>): Promise<StoredRecord | undefined> {
  return update.catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not_found') return undefined;
    throw error;
  });
}

/**
 * True when another transaction has taken the id. On SQLite, with one writer, that cannot be: there the violation is by an index
 * that ignores case.
 */
function isTaken(error: unknown, { isConcurrent }: Names): boolean {
  if (!isConcurrent) return false;
  const cause = error instanceof AppError ? error.cause : undefined;
  return cause instanceof UniqueViolation && cause.columns.join() === 'id';
}
