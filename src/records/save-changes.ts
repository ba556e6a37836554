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
  /** Of every field; what was checked, or needs no check. */
  readonly values: readonly StoredValue[];
  readonly secrets?: readonly SecretChange[];
  readonly now: Timestamp;
}

/**
 * The record with other values and the next revision, stored with its event. `existing` was read to be changed. Throws RefusedWrite
 * when a unique index refuses the values.
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

/** Only columns that changed are written, so that only their indexes are. */
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
