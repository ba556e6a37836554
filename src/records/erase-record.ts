import { emitsEvents } from '../collections/collection.ts';
import { deleteSecrets } from '../secrets/secrets.ts';
import { withValues } from '../sql/sql.ts';
import { auditAccount } from './accounts/audit-account.ts';
import { eraseAccount } from './accounts/erase-account.ts';
import { notBefore } from './not-before.ts';
import { recordEvent } from './record-event.ts';
import { recordShape } from './record-shape.ts';
import { recordStatements } from './record-statements.ts';
import type { WriteScope } from './record-write.ts';
import { StoredRecord, valueOf } from './record.ts';

/**
 * Deletes a record, whose row the caller has locked, and writes its event. The caller has dealt with what refers to the record.
 */
export async function eraseRecord(scope: WriteScope, existing: StoredRecord): Promise<void> {
  const { instance, tx } = scope;
  const { collection } = existing;
  const last = new StoredRecord(collection, existing.revision + 1, existing.values);
  const event = recordEvent('record.delete', last, notBefore(existing, instance.clock.now()));
  const id = String(valueOf(existing, 'id'));
  const { hasSecrets } = recordShape(collection);
  if (collection.type === 'auth') await eraseAccount(scope, { collection, id });
  await tx.inOrder([
    () => tx.run(withValues(recordStatements(collection, tx.names).deleteById, [id])),
    async () => hasSecrets && deleteSecrets(tx, { collection: collection.id, record: id }),
    async () => emitsEvents(collection) && instance.events.append(tx, event),
    () => auditAccount(scope, existing, { kind: 'delete' }),
  ]);
}
