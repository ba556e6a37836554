import type { Collection } from '../../collections/collection.ts';
import type { StoredValue } from '../../fields/field-type.ts';
import type { Instance } from '../../instances/instance.ts';
import type { RecordBody } from '../decode-record.ts';
import { endSessions, renewTokenKey } from './end-sessions.ts';
import type { StoredRecord } from '../record.ts';
import type { SecretChange } from './secret-change.ts';

export interface AccountChange {
  readonly body: RecordBody;
  readonly values: readonly StoredValue[];
  readonly existing?: StoredRecord;
  readonly isSuperuser: boolean;
  readonly hasNewPassword: boolean;
}

/**
 * Returns what a change of an account does to its token key. A new key ends all sessions; it is due with a new password or
 * address. A superuser may ask for one by naming `tokenKey`, but cannot choose it.
 */
export function tokenKeyChanges(
  instance: Instance,
  collection: Collection,
  change: AccountChange,
): readonly SecretChange[] {
  if (collection.type !== 'auth' || !isDue(collection, change)) return [];
  // A new account has no sessions to end.
  return change.existing === undefined ? [renewTokenKey(collection)] : endSessions(instance, collection);
}

function isDue(collection: Collection, change: AccountChange): boolean {
  const { body, values, existing, isSuperuser, hasNewPassword } = change;
  if (existing === undefined || hasNewPassword) return true;
  const email = collection.fields.findIndex(({ name }) => name === 'email');
  if (values[email] !== existing.values[email]) return true;
  return isSuperuser && ['tokenKey', 'tokenKey:autogenerate'].some((name) => Object.hasOwn(body, name));
}
