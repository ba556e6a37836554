import type { Collection } from '../../collections/collection.ts';
import { fieldType } from '../../fields/field-types.ts';
import { hashPassword } from '../../secrets/password.ts';
import { givenPasswords, type PasswordRequest } from './given-passwords.ts';

/** Hashes by the name of their field; empty where the password is to be removed. */
export type PasswordHashes = ReadonlyMap<string, string>;

/**
 * Hashes the passwords in a body before the transaction begins, which would keep all others waiting. A password that will be
 * refused is not hashed. AppError `unavailable` when too many hashes are waiting to be made.
 */
export async function hashPasswords(
  collection: Collection,
  request: PasswordRequest,
): Promise<PasswordHashes> {
  const hashes = new Map<string, string>();
  for (const field of givenPasswords(collection, request)) {
    const type = fieldType(field);
    const password = String(type.normalise(request.body[field.name], field.options));
    if (type.check(password, field.options) !== undefined) continue;
    hashes.set(field.name, password === '' ? '' : await hashPassword(password));
  }
  return hashes;
}
