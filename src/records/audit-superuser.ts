import type { AuditAction } from '../audit/audit-entry.ts';
import { auditLogOf } from '../audit/audit-log.ts';
import { superusersName } from '../instances/system-collections.ts';
import type { PasswordChange } from './password-changes.ts';
import { valueOf, type StoredRecord } from './record.ts';
import type { WriteScope } from './record-write.ts';

export interface SuperuserChange {
  readonly action: AuditAction & `superuser.${string}`;
  /** As it was, where it is another now. */
  readonly existing?: StoredRecord;
  readonly passwords?: readonly PasswordChange[];
}

/** Writes down what becomes of a superuser; does nothing for other records. */
export async function auditSuperuser(
  { instance, facts, tx }: WriteScope,
  record: StoredRecord,
  change: SuperuserChange,
): Promise<void> {
  const { collection } = record;
  if (collection.name !== superusersName) return;
  const changed = changedNames(record, change);
  await auditLogOf(instance).append(tx, facts, {
    action: change.action,
    collection: collection.id,
    target: String(valueOf(record, 'id')),
    ...(changed.length > 0 && { details: { changed } }),
  });
}

/** Of fields. Another password or token key is `secrets`, whatever they are. */
function changedNames(
  record: StoredRecord,
  { existing, passwords = [] }: SuperuserChange,
): readonly string[] {
  if (existing === undefined) return [];
  const names = record.collection.fields
    .filter((field, index) => field.type !== 'autodate' && record.values[index] !== existing.values[index])
    .map(({ name }) => name);
  return passwords.length > 0 ? [...names, 'secrets'] : names;
}
