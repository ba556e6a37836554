import type { Collection } from '../../collections/collection.ts';
import type { Instance } from '../../instances/instance.ts';
import { writeSecret } from '../../secrets/secrets.ts';
import { newTokenKey } from '../../secrets/token.ts';
import { eraseAccount } from './erase-account.ts';
import type { SecretChange } from './secret-change.ts';

/**
 * Returns the changes that end all sessions of an account: a new token key, and sign-ins that wait for their second factor are
 * erased, because they began with the old credentials. The caller has locked the account's row: a sign-in that runs meanwhile
 * waits for that lock, and fails if the key has changed.
 */
export function endSessions(instance: Instance, collection: Collection): readonly SecretChange[] {
  return [
    renewTokenKey(collection),
    (tx, id) => eraseAccount({ instance, tx }, { collection, id, only: ['_mfas'] }),
  ];
}

/** Returns the change that gives an account a new token key, which ends its sessions. A new account needs no more than this. */
export function renewTokenKey(collection: Collection): SecretChange {
  return (tx, record) =>
    writeSecret(tx, { collection: collection.id, record, name: 'tokenKey' }, newTokenKey());
}
