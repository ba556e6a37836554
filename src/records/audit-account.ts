import type { AuditAction } from '../logs/audit-entry.ts';
import { superusersName } from '../collections/collection.ts';
import { type StoredRecord, valueOf } from './record.ts';
import type { WriteScope } from './record-write.ts';
import type { SecretChange } from './sessions.ts';

export interface AuditedChange {
  readonly kind: 'create' | 'update' | 'delete';
  /** The record before an update; absent for the other kinds. */
  readonly existing?: StoredRecord;
  readonly secrets?: readonly SecretChange[];
}

/** The names that decide who can sign in to an account, and whether its address is verified. */
const credentials: ReadonlySet<string> = new Set(['email', 'verified', 'secrets']);

/**
 * Audits every change of a superuser, and a change of another account that lets somebody else sign in to it from now on. Does
 * nothing for other records.
 */
export async function auditAccount(
  { instance, input, tx }: WriteScope,
  record: StoredRecord,
  change: AuditedChange,
): Promise<void> {
  const { collection } = record;
  if (collection.type !== 'auth') return;
  const entry = collection.name === superusersName ? ofSuperuser(record, change) : ofUser(record, change);
  if (entry === undefined) return;
  const { action, changed } = entry;
  await instance.audit.append(tx, input, {
    action,
    collection: collection.id,
    target: String(valueOf(record, 'id')),
    ...(changed.length > 0 && { details: { changed } }),
  });
}

interface Entry {
  readonly action: AuditAction;
  readonly changed: readonly string[];
}

function ofSuperuser(record: StoredRecord, change: AuditedChange): Entry {
  return { action: `superuser.${change.kind}`, changed: changedNames(record, change) };
}

function ofUser(record: StoredRecord, change: AuditedChange): Entry | undefined {
  const changed = changedNames(record, change).filter((name) => credentials.has(name));
  return changed.length === 0 ? undefined : { action: 'account.update', changed };
}

/** Returns the names of the fields that changed. Every new password or token key counts as `secrets`. */
function changedNames(record: StoredRecord, { existing, secrets = [] }: AuditedChange): readonly string[] {
  if (existing === undefined) return [];
  const names = record.collection.fields
    .filter((field, index) => field.type !== 'autodate' && record.values[index] !== existing.values[index])
    .map(({ name }) => name);
  return secrets.length > 0 ? [...names, 'secrets'] : names;
}
