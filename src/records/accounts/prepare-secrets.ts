import type { Collection } from '../../collections/collection.ts';
import { toText } from '../../fields/to-text.ts';
import type { Instance } from '../../instances/instance.ts';
import type { Caller } from '../../rules/caller.ts';
import { verifyPassword } from '../../secrets/password.ts';
import { readSecret } from '../../secrets/secrets.ts';
import type { RecordBody } from '../decode-record.ts';
import { guardOldPassword } from './guard-old-password.ts';
import { hashPasswords, type PasswordHashes } from './hash-passwords.ts';

/** The results of work on secrets that is too slow for a transaction, where it would keep all others waiting. */
export interface PreparedSecrets {
  readonly hashes: PasswordHashes;
  /** The result for the old password, if one was sent. */
  readonly old: OldPassword | undefined;
}

export interface OldPassword {
  readonly isRight: boolean;
  /** The hash it was compared with. If the account has another hash by now, `isRight` proves nothing. */
  readonly hash: string | undefined;
}

export interface SecretsRequest {
  readonly caller: Caller;
  readonly body: RecordBody;
  /** The record that is to be changed; absent when one is made. */
  readonly id?: string;
}

/** AppErrors: `too_many_requests` after too many wrong old passwords, `unavailable` when too many hashes are waiting to be made. */
export async function prepareSecrets(
  instance: Instance,
  collection: Collection,
  { caller, body, id }: SecretsRequest,
): Promise<PreparedSecrets> {
  const isSuperuser = caller.kind === 'superuser';
  const hashes = await hashPasswords(collection, { body, isSuperuser });
  const given = toText(Object.hasOwn(body, 'oldPassword') ? body['oldPassword'] : '');
  if (collection.type !== 'auth' || id === undefined || isSuperuser || given === '')
    return { hashes, old: undefined };
  const key = { collection: collection.id, record: id, name: 'password' };
  const hash = await readSecret(instance.database, key);
  const attempt = { caller, collection: collection.id, id };
  const isRight = await guardOldPassword(instance, attempt, () => verifyPassword(given, hash));
  return { hashes, old: { isRight, hash } };
}
