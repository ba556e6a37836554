import type { Timestamp } from '../base/timestamp.ts';
import { emitsEvents } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { withValues } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';
import { auditAccount } from './accounts/audit-account.ts';
import { recordEvent } from './record-event.ts';
import { recordStatements } from './record-statements.ts';
import { StoredRecord, valueOf } from './record.ts';
import type { WriteScope } from './record-write.ts';
import type { SecretChange } from './accounts/secret-change.ts';
import { withUniqueErrors } from './unique-errors.ts';

export interface RecordChanges {
  /** The values of every field. They were checked, or need no check. */
  readonly values: readonly StoredValue[];
  readonly secrets?: readonly SecretChange[];
  readonly now: Timestamp;
}

/**
 * Stores the record with these values and the next revision, with its event. The caller has locked the row of `existing`. Throws
 * RefusedWrite when a unique index refuses the values.
 */
export async function saveChanges(
  scope: WriteScope,
  existing: StoredRecord,
  { values, secrets = [], now }: RecordChanges,
): Promise<StoredRecord> {
  const { instance, tx } = scope;
  const { collection } = existing;
  const record = new StoredRecord(collection, existing.revision + 1, values);
  const event = recordEvent('record.update', record, now);
  const id = String(valueOf(existing, 'id'));
  await tx.inOrder([
    () => withUniqueErrors(updateRow(tx, existing, record), collection, tx.names),
    ...secrets.map((change) => () => change(tx, id)),
    async () => emitsEvents(collection) && instance.events.append(tx, event),
    () => auditAccount(scope, record, { kind: 'update', existing, secrets }),
  ]);
  return record;
}

/** Writes only the columns that changed, so that only their indexes are written. */
function updateRow(tx: Transaction, before: StoredRecord, after: StoredRecord): Promise<number> {
  const places: number[] = [];
  const values: StoredValue[] = [after.revision];
  for (const [index, value] of after.values.entries())
    if (value !== before.values[index]) {
      places.push(index);
      values.push(value);
    }
  values.push(valueOf(before, 'id') ?? null);
  return tx.run(withValues(recordStatements(after.collection, tx.names).update(places), values));
}
