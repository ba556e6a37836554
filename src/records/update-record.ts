import { AppError } from '../base/errors.ts';
import type { StoredValue } from '../fields/field-type.ts';
import type { Instance } from '../instances/instance.ts';
import type { Caller } from '../rules/caller.ts';
import { admit } from '../rules/rule.ts';
import { currentCollection } from './current-collection.ts';
import { decodeRecord, type RecordBody } from './decode-record.ts';
import { findRecordToChange } from './find-record.ts';
import { notBefore } from './not-before.ts';
import type { StoredRecord } from './record.ts';
import type { RecordWrite, WriteScope } from './record-write.ts';
import { refuseAuthCollection } from './refuse-auth-collection.ts';
import { saveChanges } from './save-changes.ts';

const FAILED = 'Failed to update record.';

export interface UpdateRecordRequest {
  readonly collection: string;
  readonly id: string;
  /** The members to change. */
  readonly body: RecordBody;
}

/** Changes a record and writes the event in one transaction; throws what {@link prepareUpdate} and its write do. */
export async function updateRecord(
  instance: Instance,
  caller: Caller,
  request: UpdateRecordRequest,
): Promise<StoredRecord> {
  return instance.database.write(await prepareUpdate(instance, caller, request));
}

/** Throws not_found (collection), forbidden (null rule); the write besides not_found (record), bad_request (values, by field). */
async function prepareUpdate(
  instance: Instance,
  caller: Caller,
  request: UpdateRecordRequest,
): Promise<RecordWrite<StoredRecord>> {
  const { id, rules } = await currentCollection(instance, request.collection);
  admit(rules.updateRule, caller);
  return (tx) => updateInside({ instance, caller, tx }, { ...request, collection: id });
}

/** Values that are all as they were change nothing: no revision, no `updated`, no event. `collection` is an id. */
async function updateInside(scope: WriteScope, request: UpdateRecordRequest): Promise<StoredRecord> {
  const { instance, caller, tx } = scope;
  const collection = instance.collections.get(request.collection);
  admit(collection.rules.updateRule, caller);
  const existing = await findRecordToChange(tx, collection, request.id);
  if (existing === undefined) throw new AppError('not_found', "The requested resource wasn't found.");
  refuseAuthCollection(collection);
  const now = notBefore(existing, instance.clock.now());
  const isSuperuser = caller.kind === 'superuser';
  const values = decodeRecord(collection, request.body, { isSuperuser, now, existing, failed: FAILED });
  if (!isChanged(existing, values)) return existing;
  return saveChanges(scope, existing, { values, now, failed: FAILED });
}

function isChanged(existing: StoredRecord, values: readonly StoredValue[]): boolean {
  return existing.collection.fields.some(
    (field, index) => field.type !== 'autodate' && values[index] !== existing.values[index],
  );
}
