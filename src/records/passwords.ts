import type { Caller } from '../access/caller.ts';
import { type RuleInput, shareOf } from '../access/rule-input.ts';
import type { Share } from '../base/fair-line.ts';
import { conflicting } from '../base/errors.ts';
import { type Collection, secretName } from '../collections/collection.ts';
import { fieldType } from '../fields/field-types.ts';
import { type Field, mayWriteField } from '../fields/field.ts';
import { toText } from '../fields/option-reader.ts';
import type { Instance } from '../instances/instance.ts';
import { SharedCounter } from '../limits/shared-counter.ts';
import { countGuess } from '../limits/sign-in-guard.ts';
import type { PasswordHasher } from '../secrets/password.ts';
import { deleteSecret, readSecret, writeSecret } from '../secrets/secrets.ts';
import type { RecordBody } from './decode-record.ts';
import { recordTable } from './record-table.ts';
import type { SecretChange } from './sessions.ts';

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
  readonly input: RuleInput;
  readonly body: RecordBody;
  /** The record to change; absent for a create. */
  readonly id?: string;
}

/** AppErrors: `too_many_requests` after too many wrong old passwords, `unavailable` when too many hashes are waiting to be made. */
export async function prepareSecrets(
  instance: Instance,
  collection: Collection,
  { input, body, id }: SecretsRequest,
): Promise<PreparedSecrets> {
  const { caller } = input;
  const isSuperuser = caller.kind === 'superuser';
  const share = shareOf(instance.id, input);
  const hashes = await hashPasswords(
    collection,
    { body, isSuperuser },
    { hasher: instance.passwords, share },
  );
  const oldPassword = toText(Object.hasOwn(body, 'oldPassword') ? body['oldPassword'] : '');
  if (collection.type !== 'auth' || id === undefined || isSuperuser || oldPassword === '')
    return { hashes, old: undefined };
  const key = { collection: collection.id, record: id, name: 'password' };
  const hash = await readSecret(instance.database, key);
  const attempt = { caller, collection: collection.id, id };
  const isRight = await guardOldPassword(instance, attempt, () =>
    instance.passwords.verify(oldPassword, hash, share),
  );
  return { hashes, old: { isRight, hash } };
}

/** Hashes by the name of their field; empty where the password is to be removed. */
export type PasswordHashes = ReadonlyMap<string, string>;

/**
 * Hashes the passwords in a body before the transaction begins, which would keep all others waiting. A password that will be
 * refused is not hashed. AppError `unavailable` when too many hashes are waiting to be made.
 */
export async function hashPasswords(
  collection: Collection,
  request: PasswordRequest,
  { hasher, share }: { readonly hasher: PasswordHasher; readonly share: Share },
): Promise<PasswordHashes> {
  const hashes = new Map<string, string>();
  for (const field of givenPasswords(collection, request)) {
    const type = fieldType(field);
    const password = type.normalise(request.body[field.name], field.options);
    if (typeof password !== 'string' || type.check(password, field.options) !== undefined) continue;
    hashes.set(field.name, password === '' ? '' : await hasher.hash(password, share));
  }
  return hashes;
}

interface PasswordRequest {
  readonly body: RecordBody;
  readonly isSuperuser: boolean;
}

/** The password fields that a body has a value for. */
function givenPasswords(collection: Collection, { body, isSuperuser }: PasswordRequest): readonly Field[] {
  const { passwords } = recordTable(collection);
  return passwords.length === 0
    ? passwords
    : passwords.filter((field) => mayWriteField(field, isSuperuser) && Object.hasOwn(body, field.name));
}

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

/** How many wrong old passwords one caller may send for one account; docs/rules.md repeats these numbers. */
const oldPasswordLimits = { windowMs: 5 * 60_000, wrongMax: 20 } as const;

const wrong = new SharedCounter({ kind: 'old password' });

export interface OldPasswordTry {
  readonly caller: Caller;
  readonly collection: string;
  readonly id: string;
}

/**
 * Resolves whether an old password is right. Throws too_many_requests when the caller was wrong too often: otherwise whoever has
 * found an open session could guess its password here, which no sign-in would allow. Counted per caller, so that strangers cannot
 * keep an owner from changing it.
 */
export function guardOldPassword(
  instance: Instance,
  { caller, collection, id }: OldPasswordTry,
  verify: () => Promise<boolean>,
): Promise<boolean> {
  const who = caller.kind === 'guest' ? caller.kind : `${caller.kind} ${caller.id}`;
  const key = `${who}|${collection}|${id}`;
  const { wrongMax: max, windowMs: durationMs } = oldPasswordLimits;
  return countGuess(instance, { counts: [{ counter: wrong, key, limit: { max, durationMs } }], verify });
}
