import type { Timestamp } from '../base/timestamp.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { deleteSecrets } from '../secrets/secrets.ts';
import { withValues } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';
import { auditAccount } from './audit-account.ts';
import { endUnprovenLogins, eraseAccount, type SecretChange } from './sessions.ts';
import type { RecordBody } from './decode-record.ts';
import { noteChange } from './note-change.ts';
import { fileSteps } from './record-files.ts';
import { recordTable } from './record-table.ts';
import { withUniqueErrors, type WriteScope } from './record-write.ts';
import { notBefore, StoredRecord, valueOf } from './record.ts';

export interface RecordChanges {
  /** The values of every field. They were checked, or need no check. */
  readonly values: readonly StoredValue[];
  readonly secrets?: readonly SecretChange[];
  /** The body of a change that comes from a client: it may have files. */
  readonly body?: RecordBody;
  readonly now: Timestamp;
}

/**
 * Stores the record with these values and the next revision, with its event. The caller has locked the row of `existing`. Throws
 * RefusedWrite when a unique index refuses the values.
 */
export async function saveChanges(
  scope: WriteScope,
  existing: StoredRecord,
  { values, secrets = [], body, now }: RecordChanges,
): Promise<StoredRecord> {
  const { tx } = scope;
  const { collection } = existing;
  const record = new StoredRecord(collection, existing.revision + 1, values);
  const id = String(valueOf(existing, 'id'));
  await tx.inOrder([
    () => withUniqueErrors(updateRow(tx, existing, record), collection, tx.names),
    ...[...secrets, ...verificationChanges(scope, existing, record)].map((change) => () => change(tx, id)),
    ...fileSteps(scope, { collection, id, before: existing.values, after: values, body }),
    () => noteChange(scope, { kind: 'record.update', record, before: existing, now }),
    () => auditAccount(scope, record, { kind: 'update', existing, secrets }),
  ]);
  return record;
}

function verificationChanges(
  { instance }: WriteScope,
  before: StoredRecord,
  after: StoredRecord,
): readonly SecretChange[] {
  const { collection } = after;
  const isVerified = (record: StoredRecord): boolean => valueOf(record, 'verified') === 1;
  if (collection.type !== 'auth' || isVerified(before) || !isVerified(after)) return [];
  return endUnprovenLogins(instance, collection);
}

/** Writes only the columns that changed, so that only their indexes are written. */
function updateRow(tx: Transaction, before: StoredRecord, after: StoredRecord): Promise<number> {
  const indexes: number[] = [];
  const values: StoredValue[] = [after.revision];
  for (const [index, value] of after.values.entries())
    if (value !== before.values[index]) {
      indexes.push(index);
      values.push(value);
    }
  values.push(valueOf(before, 'id') ?? null);
  return tx.run(withValues(recordTable(after.collection).statements(tx.names).update(indexes), values));
}

/**
 * Deletes a record, whose row the caller has locked, and writes its event. The caller has released the references to the record.
 */
export async function eraseRecord(scope: WriteScope, existing: StoredRecord): Promise<void> {
  const { instance, tx } = scope;
  const { collection } = existing;
  const last = new StoredRecord(collection, existing.revision + 1, existing.values);
  const now = notBefore(existing, instance.clock.now());
  const id = String(valueOf(existing, 'id'));
  const { hasSecrets } = recordTable(collection);
  if (collection.type === 'auth') await eraseAccount(scope, { collection, id });
  await tx.inOrder([
    () => tx.run(withValues(recordTable(collection).statements(tx.names).deleteById, [id])),
    async () => hasSecrets && deleteSecrets(tx, { collection: collection.id, record: id }),
    ...fileSteps(scope, { collection, id, before: existing.values }),
    () => noteChange(scope, { kind: 'record.delete', record: last, before: existing, now }),
    () => auditAccount(scope, existing, { kind: 'delete' }),
  ]);
}
