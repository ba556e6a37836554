import { AppError } from '../base/errors.ts';
import { emitsEvents } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import { admit } from '../rules/rule.ts';
import { deleteSecrets } from '../secrets/secrets.ts';
import { withValues } from '../sql/sql.ts';
import { isAllowed } from './ask-rule.ts';
import { currentCollection } from './current-collection.ts';
import { requireExpected, type ExpectedRevision } from './expected-revision.ts';
import { findRecordToChange } from './find-record.ts';
import { notBefore } from './not-before.ts';
import { recordEvent } from './record-event.ts';
import { recordShape } from './record-shape.ts';
import { recordStatements } from './record-statements.ts';
import { valueOf, type StoredRecord } from './record.ts';
import { scopeOf, type RecordWrite, type WriteScope } from './record-write.ts';
import { refuseAuthCollection } from './refuse-auth-collection.ts';

export interface DeleteRecordRequest {
  readonly collection: string;
  readonly id: string;
  readonly expected?: ExpectedRevision | undefined;
}

/** Deletes a record; its event carries the last state. Throws what {@link prepareDelete} and its write do. */
export async function deleteRecord(
  instance: Instance,
  facts: RequestFacts,
  request: DeleteRecordRequest,
): Promise<void> {
  return instance.database.write(await prepareDelete(instance, facts, request));
}

/** Throws not_found (collection), forbidden (null rule); the write besides not_found (record), precondition_failed. */
export async function prepareDelete(
  instance: Instance,
  facts: RequestFacts,
  request: DeleteRecordRequest,
): Promise<RecordWrite<void>> {
  const { id, rules } = await currentCollection(instance, request.collection);
  admit(rules.deleteRule, facts.caller);
  return (tx) => deleteInside({ instance, facts, tx }, { ...request, collection: id });
}

/** `collection` is an id. */
async function deleteInside(scope: WriteScope, request: DeleteRecordRequest): Promise<void> {
  const { instance, facts, tx } = scope;
  const collection = instance.collections.get(request.collection);
  const rule = admit(collection.rules.deleteRule, facts.caller);
  const existing = await findRecordToChange(tx, collection, request.id);
  const asked = { rule, context: scopeOf(scope) };
  if (existing === undefined || !(await isAllowed(tx, { collection, id: request.id }, asked)))
    throw new AppError('not_found', "The requested resource wasn't found.");
  refuseAuthCollection(collection);
  requireExpected(request.expected, existing);
  await removeRecord(scope, existing);
}

/** Deletes a record that was read to be changed, and writes its event. */
export async function removeRecord({ instance, tx }: WriteScope, existing: StoredRecord): Promise<void> {
  const { collection } = existing;
  const last = { ...existing, revision: existing.revision + 1 };
  const event = recordEvent('record.delete', last, notBefore(existing, instance.clock.now()));
  const id = String(valueOf(existing, 'id'));
  const hasSecrets = recordShape(collection).passwords.length > 0;
  await tx.inOrder([
    () => tx.run(withValues(recordStatements(collection, tx.names).deleteById, [id])),
    async () => hasSecrets && deleteSecrets(tx, { collection: collection.id, record: id }),
    async () => emitsEvents(collection) && instance.events.append(tx, event),
  ]);
}
