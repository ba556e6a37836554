import { toTimestamp } from '../base/timestamp.ts';
import { admit, isLocked } from '../access/rule.ts';
import type { Collection } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import type { Transaction } from '../storage/database.ts';
import { auditAccount } from './audit-account.ts';
import { checkAccount, isAlwaysVerified, withVerified } from './check-account.ts';
import { boundRule, valuesMeetRule } from './check-rule.ts';
import { decodeRecord, type RecordBody } from './decode-record.ts';
import { passwordChanges, type PreparedSecrets, prepareSecrets } from './passwords.ts';
import { noteChange } from './note-change.ts';
import { fileSteps, reserveFileKeys } from './record-files.ts';
import { WrittenRecord } from '../query/condition-request.ts';
import { recordTable } from './record-table.ts';
import { StoredRecord, valueOf } from './record.ts';
import {
  hiddenFrom,
  refusedAs,
  RefusedWrite,
  refuseProblems,
  withUniqueErrors,
  type WriteRequest,
  writtenCollection,
  type WriteScope,
} from './record-write.ts';
import { refersToRecords, requireRelated } from './require-related.ts';
import { tokenKeyChanges } from './sessions.ts';

export interface CreateRecordRequest {
  readonly collection: string;
  readonly body: RecordBody;
}

/** A create whose slow work is done. */
export interface PreparedCreate extends CreateRecordRequest {
  readonly secrets: PreparedSecrets;
  /** The id for the record where the body has none; undefined for any. */
  readonly newId?: string | undefined;
  /** An address that was proven to be the account's owner's: an account with it is verified from the start. */
  readonly provenEmail?: string;
}

/** Prepares to make a record. Throws not_found (collection), forbidden (null rule), unavailable (too many passwords to hash). */
export async function prepareCreate(
  { instance, input }: WriteRequest,
  request: CreateRecordRequest,
): Promise<PreparedCreate> {
  const { caller } = input;
  const collection = await writtenCollection(instance, request.collection, (candidate) =>
    isLocked(candidate, ['createRule'], caller),
  );
  admit(collection, 'createRule', caller);
  const { body } = request;
  const secrets = await prepareSecrets(instance, collection, { input, body });
  return { ...request, secrets, newId: reserveFileKeys(instance, collection, { caller, body }) };
}

/** Makes a record with its event. Throws not_found (collection), forbidden (null rule), bad_request (values, by field). */
export function createRecord(scope: WriteScope, prepared: PreparedCreate): Promise<StoredRecord> {
  const isHidden = hiddenFrom(scope, prepared.collection);
  return refusedAs('Failed to create record.', create(scope, prepared), isHidden);
}

async function create(scope: WriteScope, prepared: PreparedCreate): Promise<StoredRecord> {
  const { instance, input, tx } = scope;
  const collection = instance.collections.get(prepared.collection);
  const createRule = admit(collection, 'createRule', input.caller);
  const now = toTimestamp(instance.clock.now());
  const isSuperuser = input.caller.kind === 'superuser';
  const decoded = decodeRecord(collection, prepared.body, { isSuperuser, now, newId: prepared.newId });
  const values = isAlwaysVerified(collection) ? withVerified(collection, decoded.values, 1) : decoded.values;
  const ruleRequest = { ...scope, write: new WrittenRecord(collection, values) };
  const rule = boundRule(ruleRequest, collection, createRule);
  // The rule is evaluated before any problem of the values is reported, from which a stranger would learn what is stored.
  const ruled = collection.type === 'auth' ? withVerified(collection, values, 0) : values;
  if (!(await valuesMeetRule(tx, rule, ruled))) throw new RefusedWrite();
  const { body, secrets } = prepared;
  if (collection.auth !== undefined)
    await checkAccount(scope, { collection, body, values, secrets, ruleRequest });
  const { problems } = decoded;
  if (refersToRecords(collection)) await requireRelated(scope, { collection, values, problems });
  else refuseProblems(problems);
  const record = new StoredRecord(collection, 1, provenValues(collection, values, prepared));
  const passwords = passwordChanges(collection, { body, hashes: secrets.hashes, isSuperuser });
  const account = { body, values: record.values, isSuperuser, hasNewPassword: true };
  const secretChanges = [...passwords, ...tokenKeyChanges(instance, collection, account)];
  const id = String(valueOf(record, 'id'));
  await tx.inOrder([
    () => insertRecord(tx, record),
    ...secretChanges.map((change) => () => change(tx, id)),
    ...fileSteps(scope, { collection, id, after: record.values, body }),
    () => noteChange(scope, { kind: 'record.create', record, now }),
    () => auditAccount(scope, record, { kind: 'create' }),
  ]);
  return record;
}

function provenValues(
  collection: Collection,
  values: readonly StoredValue[],
  { provenEmail }: PreparedCreate,
): readonly StoredValue[] {
  const email = collection.fields.findIndex(({ name }) => name === 'email');
  const isProven = collection.type === 'auth' && provenEmail !== undefined && values[email] === provenEmail;
  return isProven ? withVerified(collection, values, 1) : values;
}

function insertRecord(tx: Transaction, { collection, values }: StoredRecord): Promise<unknown> {
  const insert = recordTable(collection).statements(tx.names).insert(values);
  return withUniqueErrors(tx.run(insert), collection, tx.names);
}
