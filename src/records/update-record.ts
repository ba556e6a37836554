import { notFound } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import type { Instance } from '../instances/instance.ts';
import { admit, isLocked } from '../access/rule.ts';
import { checkAccount, isAlwaysVerified, withVerified } from './check-account.ts';
import { boundRule, isAllowed } from './check-rule.ts';
import { decodeRecord, type RecordBody } from './decode-record.ts';
import {
  type ExpectedRevision,
  hiddenFrom,
  refusedAs,
  refuseProblems,
  requireExpected,
  type WriteRequest,
  writtenCollection,
  type WriteScope,
} from './record-write.ts';
import { findRecordToChange } from './find-record.ts';
import { notBefore, type StoredRecord } from './record.ts';
import { passwordChanges, type PreparedSecrets, prepareSecrets } from './passwords.ts';
import { reserveFileKeysOf } from './record-files.ts';
import { WrittenRecord } from '../query/condition-request.ts';
import { refersToRecords, requireRelated } from './require-related.ts';
import { saveChanges } from './save-record.ts';
import { type AccountChange, type SecretChange, tokenKeyChanges } from './sessions.ts';

export interface UpdateRecordRequest {
  readonly collection: string;
  readonly id: string;
  /** The members to change. */
  readonly body: RecordBody;
  readonly expected?: ExpectedRevision | undefined;
}

/** An update whose slow work is done. */
export interface PreparedUpdate extends UpdateRecordRequest {
  readonly secrets: PreparedSecrets;
}

/** Prepares to change a record. Throws not_found (collection), forbidden (null rule), unavailable (too many passwords to hash). */
export async function prepareUpdate(
  { instance, input }: WriteRequest,
  request: UpdateRecordRequest,
): Promise<PreparedUpdate> {
  const { caller } = input;
  const collection = await writtenCollection(instance, request.collection, (candidate) =>
    isLocked(candidate, ['updateRule'], caller),
  );
  admit(collection, 'updateRule', caller);
  const { body, id } = request;
  const secrets = await prepareSecrets(instance, collection, { input, body, id });
  reserveFileKeysOf(collection, id, { caller, body });
  return { ...request, secrets };
}

/**
 * Changes a record and writes the event. Values that are all unchanged make no revision, no new `updated` and no event. A password
 * always counts as a change: nobody can tell whether it is the same. Throws not_found (collection, record), forbidden (null rule),
 * precondition_failed, bad_request (values, by field).
 */
export function updateRecord(scope: WriteScope, prepared: PreparedUpdate): Promise<StoredRecord> {
  const isHidden = hiddenFrom(scope, prepared.collection);
  return refusedAs('Failed to update record.', update(scope, prepared), isHidden);
}

async function update(scope: WriteScope, prepared: PreparedUpdate): Promise<StoredRecord> {
  const { instance, input, tx } = scope;
  const collection = instance.collections.get(prepared.collection);
  const updateRule = admit(collection, 'updateRule', input.caller);
  const existing = await findRecordToChange(tx, collection, prepared.id);
  if (existing === undefined) throw notFound();
  const now = notBefore(existing, instance.clock.now());
  const isSuperuser = input.caller.kind === 'superuser';
  const decoded = decodeRecord(collection, prepared.body, { isSuperuser, now, existing });
  const values = isAlwaysVerified(collection) ? withVerified(collection, decoded.values, 1) : decoded.values;
  const ruleRequest = { ...scope, write: new WrittenRecord(collection, values) };
  const rule = boundRule(ruleRequest, collection, updateRule);
  if (!(await isAllowed(tx, rule, prepared.id))) throw notFound();
  requireExpected(prepared.expected, existing);
  const { body, secrets } = prepared;
  if (collection.auth !== undefined)
    await checkAccount(scope, { collection, body, values, existing, secrets, ruleRequest });
  const { problems } = decoded;
  if (refersToRecords(collection)) await requireRelated(scope, { collection, values, existing, problems });
  else refuseProblems(problems);
  const changed = secretChanges(instance, collection, { body, values, existing, secrets, isSuperuser });
  if (!isChanged(existing, values) && changed.length === 0) return existing;
  return saveChanges(scope, existing, { values, secrets: changed, body, now });
}

function secretChanges(
  instance: Instance,
  collection: Collection,
  change: Omit<AccountChange, 'hasNewPassword'> & { readonly secrets: PreparedSecrets },
): readonly SecretChange[] {
  const { hashes } = change.secrets;
  const passwords = passwordChanges(collection, { ...change, hashes });
  const isOwn = hashes.has('password') && Object.hasOwn(change.body, 'password');
  return [...passwords, ...tokenKeyChanges(instance, collection, { ...change, hasNewPassword: isOwn })];
}

function isChanged(existing: StoredRecord, values: readonly StoredValue[]): boolean {
  return existing.collection.fields.some(
    (field, index) => field.type !== 'autodate' && values[index] !== existing.values[index],
  );
}
