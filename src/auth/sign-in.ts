import { AppError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { fieldError } from '../fields/field-error.ts';
import type { Instance } from '../instances/instance.ts';
import { valueOf, type StoredRecord } from '../records/record.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import { hashPassword, needsRehash, verifyPassword } from '../secrets/password.ts';
import { readSecret, type SecretKey } from '../secrets/secrets.ts';
import { sql } from '../sql/sql.ts';
import { decodeForm, lengthProblem, refuseForm } from './decode-form.ts';
import { findByIdentity } from './find-by-identity.ts';
import { findTokenKey } from './find-token-key.ts';
import { finishSignIn } from './finish-sign-in.ts';
import { noteSignIn } from './note-sign-in.ts';
import { requireMethod } from './require-method.ts';
import type { SignInResult } from './signed-in.ts';
import { withAuthCollection, type AuthCollection } from './with-auth-collection.ts';

const identityLengthMax = 255;
const passwordBytesMax = 512;

export interface PasswordSignIn {
  readonly collection: string;
  /** Runs the sign-in unless too many were wrong. `account` is the id of the account, undefined for none. */
  readonly guard: (
    named: { readonly identity: string; readonly account: string | undefined },
    run: () => Promise<SignInResult>,
  ) => Promise<SignInResult>;
}

/**
 * Signs in a record of an auth collection by identity and password. An unknown identity costs the same work and gets the same
 * answer as a wrong password. Throws not_found (no auth collection), forbidden (switched off, or the collection's rule),
 * bad_request, and what the guard throws.
 */
export function signIn(
  instance: Instance,
  facts: RequestFacts,
  { collection: collectionName, guard }: PasswordSignIn,
): Promise<SignInResult> {
  return withAuthCollection(instance, collectionName, async (collection) => {
    const { passwordAuth } = collection.auth;
    requireMethod(collection, 'password');
    const { password, ...named } = decodeCredentials(facts.body, passwordAuth.identityFields);
    const record = await findByIdentity(instance, collection, named);
    const account = record && String(valueOf(record, 'id'));
    // Audited inside: a guard that refuses has audited that itself.
    return guard({ identity: named.identity, account }, () =>
      noteSignIn(instance, { facts, collection, id: account ?? '' }, () =>
        checkPassword(instance, facts, { collection, record, password }),
      ),
    );
  });
}

interface GivenPassword {
  readonly collection: AuthCollection;
  /** Undefined when there is no such account. */
  readonly record: StoredRecord | undefined;
  readonly password: string;
}

async function checkPassword(
  instance: Instance,
  facts: RequestFacts,
  { collection, record, password }: GivenPassword,
): Promise<SignInResult> {
  const id = record === undefined ? '' : String(valueOf(record, 'id'));
  // Read before the password: a change of the password in between then ends the session that is begun here as well.
  const tokenKey = await findTokenKey(instance, collection, { record: id, kind: 'authToken' });
  const key = { collection: collection.id, record: id, name: 'password' };
  const hash = record === undefined ? undefined : await readSecret(instance.database, key);
  const isRight = await verifyPassword(password, hash);
  if (!isRight || record === undefined || hash === undefined || tokenKey === undefined)
    throw new AppError('bad_request', 'Failed to authenticate.');
  if (needsRehash(hash)) await strengthen(instance, key, { hash, password });
  return finishSignIn(instance, facts, { record, method: 'password', tokenKey });
}

interface Credentials {
  readonly identity: string;
  readonly password: string;
  /** The fields to look in: the one that the client names, or all configured ones. */
  readonly fields: readonly string[];
}

function decodeCredentials(body: JsonObject, configured: readonly string[]): Credentials {
  const form = decodeForm(body, ['identity', 'password', 'identityField']);
  const { identity, password, identityField } = form;
  const fields = identityField === '' ? configured : configured.filter((name) => name === identityField);
  refuseForm({
    identity: lengthProblem(identity.length, identityLengthMax),
    password: lengthProblem(Buffer.byteLength(password), passwordBytesMax),
    identityField: fields.length === 0 ? fieldError('validation_in_invalid') : undefined,
  });
  return { identity, password, fields };
}

/** Hashes the password again at the current cost, and stores that only if the password was not changed meanwhile. */
async function strengthen(
  instance: Instance,
  key: SecretKey,
  { hash, password }: { readonly hash: string; readonly password: string },
): Promise<void> {
  const stronger = await hashPassword(password);
  await instance.database.write((tx) =>
    tx.run(sql`
      UPDATE ${tx.names.table('$secret')} SET value = ${stronger}
      WHERE ${tx.names.scope} AND collection = ${key.collection} AND record = ${key.record} AND name = ${key.name} AND value = ${hash}`),
  );
}
