import type { Collection } from '../../collections/collection.ts';
import type { Instance } from '../../instances/instance.ts';
import { writeSecret } from '../../secrets/secrets.ts';
import { newTokenKey } from '../../secrets/token.ts';
import { eraseAccount } from './erase-account.ts';
import type { SecretChange } from './secret-change.ts';

/**
 * What ends all sessions of an account: another token key, and those that wait for their second factor are erased, as they were begun
 * with what the account had before. Its row is locked by whoever makes these changes: a session that begins meanwhile looks at the key.
 */
export function endSessions(instance: Instance, collection: Collection): readonly SecretChange[] {
  return [
    renewTokenKey(collection),
    (tx, id) => eraseAccount({ instance, tx }, { collection, id, only: ['_mfas'] }),
  ];
}

/** All that an account needs that is only being made; of another one it ends the sessions that have begun. */
export function renewTokenKey(collection: Collection): SecretChange {
  return (tx, record) =>
    writeSecret(tx, { collection: collection.id, record, name: 'tokenKey' }, newTokenKey());
}
