import type { Collection } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { fieldType } from '../fields/field-types.ts';
import { writeSecret } from '../secrets/secrets.ts';
import { endSessions, forgetOrigins, renewTokenKey, type SecretChange } from './sessions.ts';
import { notBefore, type StoredRecord } from './record.ts';
import type { WriteScope } from './record-write.ts';
import { saveChanges } from './save-record.ts';

/** What the owner of an account has proven to be theirs. Members that are left out stay as they are. */
export interface AccountProof {
  readonly email?: string;
  readonly verified?: boolean;
  /** The hash of a new password. */
  readonly passwordHash?: string;
  /** Ends the account's sessions although its address and password stay. A sign-in that waits for its second factor goes on. */
  readonly endsSessions?: true;
}

/**
 * Changes an account, whose row the caller has locked, and writes its event. No rule is evaluated: the caller has sent a token
 * that was mailed to the owner. A new password or address ends all sessions, as everywhere. Throws RefusedWrite.
 */
export async function changeAccount(
  scope: WriteScope,
  existing: StoredRecord,
  proof: AccountProof,
): Promise<StoredRecord> {
  const { collection } = existing;
  const { email, verified, passwordHash, endsSessions } = proof;
  const changes = new Map<string, StoredValue>([
    ...(email === undefined ? [] : [['email', email] as const]),
    ...(verified === undefined ? [] : [['verified', verified ? 1 : 0] as const]),
  ]);
  const isSame = collection.fields.every(
    ({ name }, index) => !changes.has(name) || changes.get(name) === existing.values[index],
  );
  if (isSame && passwordHash === undefined) return existing;
  const now = notBefore(existing, scope.instance.clock.now());
  const values = collection.fields.map((field, index) => {
    const stamp = fieldType(field).stamp?.('update', now, field.options);
    return changes.get(field.name) ?? stamp ?? existing.values[index] ?? null;
  });
  const isOther = passwordHash !== undefined || email !== undefined;
  const ended = isOther
    ? endSessions(scope.instance, collection)
    : endsSessions
      ? [renewTokenKey(collection)]
      : [];
  const secrets: readonly SecretChange[] = [
    ...(passwordHash === undefined
      ? []
      : [setPassword(collection, passwordHash), forgetOrigins(scope.instance, collection)]),
    ...ended,
  ];
  return saveChanges(scope, existing, { values, secrets, now });
}

function setPassword(collection: Collection, hash: string): SecretChange {
  return (tx, record) => writeSecret(tx, { collection: collection.id, record, name: 'password' }, hash);
}
