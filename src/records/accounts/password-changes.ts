import { conflicting } from '../../base/errors.ts';
import type { Collection } from '../../collections/collection.ts';
import { secretName } from '../../collections/secret-name.ts';
import { deleteSecret, writeSecret } from '../../secrets/secrets.ts';
import { givenPasswords, type PasswordRequest } from './given-passwords.ts';
import type { PasswordHashes } from './hash-passwords.ts';
import type { SecretChange } from './secret-change.ts';

/**
 * Asked in the transaction, after the body was checked. The definition may have changed since the hashes were made: where one
 * is missing now, nothing is done, and the client may ask again (`conflict`).
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
