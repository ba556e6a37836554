import { AppError } from '../base/errors.ts';
import { ownMember } from '../base/json.ts';
import type { Collection } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import { isLocked } from '../rules/rule.ts';
import type { Names } from '../storage/database.ts';
import { Collision, UniqueViolation } from '../storage/engine-errors.ts';
import { createInside } from './create-record.ts';
import { currentCollection } from '../instances/current-collection.ts';
import type { RecordBody } from './decode-record.ts';
import { requireExpected, type ExpectedRevision } from './expected-revision.ts';
import { findRecordToChange } from './find-record.ts';
import { prepareSecrets } from './accounts/prepare-secrets.ts';
import type { StoredRecord } from './record.ts';
import type { RecordWrite } from './record-write.ts';
import { updateInside } from './update-record.ts';

export interface UpsertRecordRequest {
  readonly collection: string;
  /** Its `id` says which record is updated, or made if there is none. */
  readonly body: RecordBody;
  readonly expected?: ExpectedRevision | undefined;
}

export interface Upserted {
  readonly isCreated: boolean;
  readonly record: StoredRecord;
}

/** Throws not_found (collection); the write what an update or a create throws, null rules included: which it is turns out there. */
export async function prepareUpsert(
  instance: Instance,
  facts: RequestFacts,
  { collection: nameOrId, body, expected }: UpsertRecordRequest,
): Promise<RecordWrite<Upserted>> {
  const { caller } = facts;
  const mayNotWrite = (known: Collection): boolean => isLocked(known, ['createRule', 'updateRule'], caller);
  const collection = await currentCollection(instance, nameOrId, mayNotWrite);
  const bodyId = ownMember(body, 'id');
  const secrets = await prepareSecrets(instance, collection, {
    caller,
    // Hashing is work: not for who may neither make nor change a record.
    body: mayNotWrite(collection) ? {} : body,
    ...(typeof bodyId === 'string' ? { id: bodyId } : {}),
  });
  const request = { collection: nameOrId, body, secrets };
  return async (tx) => {
    const scope = { instance, facts, tx };
    const id = ownMember(body, 'id');
    const known = instance.collections.get(request.collection);
    // Locked, or somebody might delete it before it is updated.
    const existing = typeof id === 'string' ? await findRecordToChange(tx, known, id) : undefined;
    if (existing !== undefined && typeof id === 'string' && !isLocked(known, ['updateRule'], caller)) {
      const record = await unlessHidden(updateInside(scope, { ...request, id, expected }));
      if (record !== undefined) return { isCreated: false, record };
    }
    requireExpected(expected, undefined);
    try {
      return { isCreated: true, record: await createInside(scope, request) };
    } catch (error) {
      // Made by somebody else since it was looked for: there is one to update now.
      throw existing === undefined && isTaken(error, tx.names) ? new Collision(error) : error;
    }
  };
}

/**
 * Undefined for a record that the caller may not change, which is as good as none: another answer than that of an id which nobody
 * has would tell that it is there.
 */
function unlessHidden(update: Promise<StoredRecord>): Promise<StoredRecord | undefined> {
  return update.catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not_found') return undefined;
    throw error;
  });
}

/** Where there is one writer nobody else has made it: an index that ignores case has it for the same as another. */
function isTaken(error: unknown, { engine }: Names): boolean {
  if (engine === 'sqlite') return false;
  const cause = error instanceof AppError ? error.cause : undefined;
  return cause instanceof UniqueViolation && cause.columns.join() === 'id';
}
