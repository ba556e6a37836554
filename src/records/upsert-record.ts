import { AppError } from '../base/errors.ts';
import { ownMember } from '../base/json.ts';
import type { Collection } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import type { RuleInput } from '../access/rule-input.ts';
import { isLocked } from '../access/rule.ts';
import type { Names } from '../storage/database.ts';
import { Collision, UniqueViolation } from '../storage/engine-errors.ts';
import { createInside } from './create-record.ts';
import { placeForKnown, placeForNew } from './record-files.ts';
import { currentCollection } from '../instances/current-collection.ts';
import type { RecordBody } from './decode-record.ts';
import { type ExpectedRevision, type RecordWrite, requireExpected } from './record-write.ts';
import { findRecordToChange } from './find-record.ts';
import { prepareSecrets } from './accounts/passwords.ts';
import type { StoredRecord } from './record.ts';
import { updateInside } from './update-record.ts';

export interface UpsertRecordRequest {
  readonly collection: string;
  /** Its `id` says which record is updated, or created if there is none. */
  readonly body: RecordBody;
  readonly expected?: ExpectedRevision | undefined;
}

export interface UpsertResult {
  readonly isCreated: boolean;
  readonly record: StoredRecord;
}

/**
 * Throws not_found (collection). The write throws what an update or a create throws, null rules included: only there is it known
 * which of them it is.
 */
export async function prepareUpsert(
  instance: Instance,
  input: RuleInput,
  { collection: nameOrId, body, expected }: UpsertRecordRequest,
): Promise<RecordWrite<UpsertResult>> {
  const { caller } = input;
  const mayNotWrite = (known: Collection): boolean => isLocked(known, ['createRule', 'updateRule'], caller);
  const collection = await currentCollection(instance, nameOrId, mayNotWrite);
  const bodyId = ownMember(body, 'id');
  const secrets = await prepareSecrets(instance, collection, {
    input,
    // Hashing is expensive: not done for a caller who may neither create nor update records.
    body: mayNotWrite(collection) ? {} : body,
    ...(typeof bodyId === 'string' ? { id: bodyId } : {}),
  });
  const sent = { caller, body: mayNotWrite(collection) ? {} : body };
  const newId = placeForNew(instance, collection, sent);
  // What is wrong with a new record may be right with one that is there.
  if (newId === undefined && typeof bodyId === 'string') placeForKnown(collection, bodyId, sent);
  const request = { collection: nameOrId, body, secrets, newId };
  return async (tx) => {
    const scope = { instance, input, tx };
    const id = ownMember(body, 'id');
    const known = instance.collections.get(request.collection);
    // Locked, or another transaction might delete it before it is updated.
    const existing = typeof id === 'string' ? await findRecordToChange(tx, known, id) : undefined;
    if (existing !== undefined && typeof id === 'string' && !isLocked(known, ['updateRule'], caller)) {
      const record = await unlessHidden(updateInside(scope, { ...request, id, expected }));
      if (record !== undefined) return { isCreated: false, record };
    }
    requireExpected(expected, undefined);
    try {
      return { isCreated: true, record: await createInside(scope, request) };
    } catch (error) {
      // Another transaction has created the record since it was looked for. A retry finds it and updates it.
      throw existing === undefined && isTaken(error, tx.names) ? new Collision(error) : error;
    }
  };
}

/**
 * Resolves to undefined for a record that the caller may not change, which is treated as absent: any other answer than for an
 * unknown id would tell that it exists.
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
