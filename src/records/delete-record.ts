import { AppError } from '../base/errors.ts';
import { emitsEvents } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import type { Caller } from '../rules/caller.ts';
import { admit } from '../rules/rule.ts';
import { withValues } from '../sql/sql.ts';
import { currentCollection } from './current-collection.ts';
import { findRecordToChange } from './find-record.ts';
import { recordEvent } from './record-event.ts';
import { recordStatements } from './record-statements.ts';
import { refuseAuthCollection } from './refuse-auth-collection.ts';
import { notBefore } from './update-record.ts';

/** Deletes a record; its event carries the last state. Throws not_found (collection, record), forbidden (null rule). */
export async function deleteRecord(
  instance: Instance,
  caller: Caller,
  request: { readonly collection: string; readonly id: string },
): Promise<void> {
  const { id, rules } = await currentCollection(instance, request.collection);
  admit(rules.deleteRule, caller);
  return instance.database.write(async (tx) => {
    const collection = instance.collections.get(id);
    admit(collection.rules.deleteRule, caller);
    const existing = await findRecordToChange(tx, collection, request.id);
    if (existing === undefined) throw new AppError('not_found', "The requested resource wasn't found.");
    refuseAuthCollection(collection);
    const last = { ...existing, revision: existing.revision + 1 };
    const event = recordEvent('record.delete', last, notBefore(existing, instance.clock.now()));
    await tx.inOrder([
      () => tx.run(withValues(recordStatements(collection, tx.names).deleteById, [request.id])),
      async () => emitsEvents(collection) && instance.events.append(tx, event),
    ]);
  });
}
