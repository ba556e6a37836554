import { AppError } from '../base/errors.ts';
import { toTimestamp } from '../base/timestamp.ts';
import { emitsEvents } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import { admit } from '../rules/rule.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import type { Transaction } from '../storage/database.ts';
import { currentCollection } from './current-collection.ts';
import { factsOfChange, wouldBeAllowed } from './ask-rule.ts';
import { decodeRecord, type RecordBody } from './decode-record.ts';
import { hashPasswords, type PasswordHashes } from './hash-passwords.ts';
import { passwordChanges } from './password-changes.ts';
import { recordStatements } from './record-statements.ts';
import { toStoredRecord, valueOf, type StoredRecord } from './record.ts';
import { recordEvent } from './record-event.ts';
import { scopeOf, type RecordWrite, type WriteScope } from './record-write.ts';
import { refuseAuthCollection } from './refuse-auth-collection.ts';
import { requireRelated } from './require-related.ts';
import { withUniqueErrors } from './unique-errors.ts';

const FAILED = 'Failed to create record.';

export interface CreateRecordRequest {
  readonly collection: string;
  readonly body: RecordBody;
}

/** Makes a record and its event in one transaction. Resolves when both are synced; throws what {@link prepareCreate} and its write do. */
export async function createRecord(
  instance: Instance,
  facts: RequestFacts,
  request: CreateRecordRequest,
): Promise<StoredRecord> {
  return instance.database.write(await prepareCreate(instance, facts, request), { isAppending: true });
}

/** Throws not_found (collection), forbidden (null rule); the write besides bad_request (values, by field). */
export async function prepareCreate(
  instance: Instance,
  facts: RequestFacts,
  request: CreateRecordRequest,
): Promise<RecordWrite<StoredRecord>> {
  const collection = await currentCollection(instance, request.collection);
  admit(collection.rules.createRule, facts.caller);
  const { body } = request;
  const hashes = await hashPasswords(collection, { body, isSuperuser: facts.caller.kind === 'superuser' });
  return (tx) => createInside({ instance, facts, tx }, { collection: collection.id, body, hashes });
}

/** By the definition as it is now: it may have changed while this work was waiting for its turn. `collection` is an id. */
export async function createInside(
  scope: WriteScope,
  request: CreateRecordRequest & { readonly hashes: PasswordHashes },
): Promise<StoredRecord> {
  const { instance, facts, tx } = scope;
  const collection = instance.collections.get(request.collection);
  const rule = admit(collection.rules.createRule, facts.caller);
  refuseAuthCollection(collection);
  const now = toTimestamp(instance.clock.now());
  const isSuperuser = facts.caller.kind === 'superuser';
  const decoded = decodeRecord(collection, request.body, { isSuperuser, now, failed: FAILED });
  const { values } = decoded;
  const context = { ...scopeOf(scope), facts: factsOfChange(facts, collection, values) };
  // Before anything is said of the values: a stranger would learn from it what is stored.
  if (!(await wouldBeAllowed(tx, { collection, values }, { rule, context })))
    throw new AppError('bad_request', FAILED);
  decoded.refuseProblems();
  await requireRelated(scope, { collection, values, failed: FAILED });
  const record = toStoredRecord(collection, 1, values);
  const event = recordEvent('record.create', record, now);
  const passwords = passwordChanges(collection, { ...request, isSuperuser });
  const id = String(valueOf(record, 'id'));
  await tx.inOrder([
    () => insertRecord(tx, record),
    ...passwords.map((change) => () => change(tx, id)),
    async () => emitsEvents(collection) && instance.events.append(tx, event),
  ]);
  return record;
}

function insertRecord(tx: Transaction, { collection, values }: StoredRecord): Promise<unknown> {
  const insert = recordStatements(collection, tx.names).insert(values);
  return withUniqueErrors(tx.run(insert), collection, FAILED);
}
