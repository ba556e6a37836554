import { notFound } from '../base/errors.ts';
import type { Instance } from '../instances/instance.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import { admit, isLocked } from '../rules/rule.ts';
import { isAllowed } from './ask-rule.ts';
import { currentCollection } from '../instances/current-collection.ts';
import { requireExpected, type ExpectedRevision } from './expected-revision.ts';
import { findRecordToDelete } from './find-record.ts';
import type { RecordWrite, WriteScope } from './record-write.ts';
import { removeRecord } from './remove-record.ts';
import { scopeContext } from './scope-context.ts';

export interface DeleteRecordRequest {
  readonly collection: string;
  readonly id: string;
  readonly expected?: ExpectedRevision | undefined;
}

/**
 * Prepares to delete a record; its event carries the last state. Throws not_found (collection), forbidden (null rule); the write also
 * throws not_found (record), precondition_failed, bad_request (references).
 */
export async function prepareDelete(
  instance: Instance,
  facts: RequestFacts,
  request: DeleteRecordRequest,
): Promise<RecordWrite<void>> {
  const { caller } = facts;
  const collection = await currentCollection(instance, request.collection, (known) =>
    isLocked(known, ['deleteRule'], caller),
  );
  admit(collection, 'deleteRule', caller);
  return (tx) => deleteInside({ instance, facts, tx }, request);
}

async function deleteInside(scope: WriteScope, request: DeleteRecordRequest): Promise<void> {
  const { instance, facts, tx } = scope;
  const collection = instance.collections.get(request.collection);
  const rule = admit(collection, 'deleteRule', facts.caller);
  const existing = await findRecordToDelete(tx, collection, request.id);
  const asked = { rule, context: scopeContext(instance, facts, tx.names) };
  if (existing === undefined || !(await isAllowed(tx, { collection, id: request.id }, asked)))
    throw notFound();
  requireExpected(request.expected, existing);
  await removeRecord(scope, existing);
}
