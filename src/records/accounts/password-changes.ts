import { conflicting } from '../../base/errors.ts';
import type { Collection } from '../../collections/collection.ts';
import { secretName } from '../../collections/secret-name.ts';
import { deleteSecret, writeSecret } from '../../secrets/secrets.ts';
import { givenPasswords, type PasswordRequest } from './given-passwords.ts';
import type { PasswordHashes } from './hash-passwords.ts';
import type { SecretChange } from './secret-change.ts';

/**
 * Returns the changes that store or remove the passwords of a body. Called in the transaction, after the body was checked. Throws
 * conflict when a hash is missing, because the definition has changed since they were made: the client may try again.
 */
export function passwordChanges(
  collection: Collection,
  request: PasswordRequest & { readonly hashes: PasswordHashes },
): readonly SecretChange[] {
  return givenPasswords(collection, request).map((field) => {
    const hash = request.hashes.get(field.name);
    if (hash === undefined) throw conflicting();
    const name = secretName(field);
    return (tx, record) => {
      const key = { collection: collection.id, record, name };
      return hash === '' ? deleteSecret(tx, key) : writeSecret(tx, key, hash);
    };
  });
}
