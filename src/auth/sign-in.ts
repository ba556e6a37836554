import { AppError, type FieldError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import { findRecord } from '../records/find-record.ts';
import { valueOf, type StoredRecord } from '../records/record.ts';
import { hashPassword, needsRehash, verifyPassword } from '../secrets/password.ts';
import { readSecret } from '../secrets/secrets.ts';
import { signToken } from '../secrets/token.ts';
import { sql } from '../sql/sql.ts';
import { verifyAuthToken } from './authenticate.ts';
import { findTokenKey } from './find-token-key.ts';

/** What a sign-in answers. */
export interface SignedIn {
  readonly token: string;
  readonly record: StoredRecord;
}

const identityLengthMax = 255;
const passwordBytesMax = 512;

/**
 * Signs a record of an auth collection in by identity and password. An identity that nobody has costs the same work and
 * gets the same answer as a wrong password. Throws not_found (no auth collection), bad_request.
 */
export async function signIn(
  instance: Instance,
  collectionName: string,
  body: Readonly<Record<string, unknown>>,
): Promise<SignedIn> {
  const collection = getAuthCollection(instance, collectionName);
  const { identity, password, identityFields } = decodeCredentials(
    body,
    collection.auth?.passwordAuth.identityFields ?? [],
  );
  const record = await findByIdentity(instance, collection, { identity, identityFields });
  const key = {
    collection: collection.id,
    record: record === undefined ? '' : idOf(record),
    name: 'password',
  };
  const hash = await readSecret(instance.database, key);
  const isRight = await verifyPassword(password, hash);
  if (!isRight || record === undefined || hash === undefined)
    throw new AppError('bad_request', 'Failed to authenticate.');
  if (needsRehash(hash)) await strengthen(instance, { ...key, hash, password });
  return { record, token: await issueToken(instance, collection, record) };
}

/** A new token for the record whose token this is. Throws not_found, unauthorized. */
export async function refreshSignIn(
  instance: Instance,
  collectionName: string,
  header: string | undefined,
): Promise<SignedIn> {
  const collection = getAuthCollection(instance, collectionName);
  const claims = header === undefined ? undefined : await verifyAuthToken(instance, header);
  const record =
    claims === undefined ? undefined : await findRecord(instance.database, collection, String(claims['id']));
  if (header === undefined || claims === undefined || record === undefined) {
    throw new AppError('unauthorized', 'The request requires valid record authorization token.');
  }
  if (claims['refreshable'] !== true) return { record, token: header.replace(/^bearer /i, '') };
  return { record, token: await issueToken(instance, collection, record) };
}

function getAuthCollection(instance: Instance, name: string): Collection {
  const collection = instance.collections.find(name);
  if (collection?.type === 'auth') return collection;
  throw new AppError('not_found', 'Missing or invalid auth collection context.');
}

interface Credentials {
  readonly identity: string;
  readonly password: string;
  /** Where the identity is looked for: the one the client names, or all there are. */
  readonly identityFields: readonly string[];
}

function decodeCredentials(
  body: Readonly<Record<string, unknown>>,
  configured: readonly string[],
): Credentials {
  const { identity, password, identityField } = body;
  const isNamed = identityField !== undefined && identityField !== null && identityField !== '';
  const identityFields = isNamed ? configured.filter((name) => name === identityField) : configured;
  const details: Record<string, FieldError> = {};
  if (typeof identity !== 'string' || identity === '') details['identity'] = blank;
  else if (identity.length > identityLengthMax) details['identity'] = tooLong(identityLengthMax);
  if (typeof password !== 'string' || password === '') details['password'] = blank;
  else if (Buffer.byteLength(password) > passwordBytesMax) details['password'] = tooLong(passwordBytesMax);
  if (isNamed && identityFields.length === 0)
    details['identityField'] = { code: 'validation_in_invalid', message: 'Must be a valid value.' };
  if (typeof identity === 'string' && typeof password === 'string' && Object.keys(details).length === 0) {
    return { identity, password, identityFields };
  }
  throw new AppError('bad_request', 'An error occurred while validating the submitted data.', { details });
}

const blank: FieldError = { code: 'validation_required', message: 'Cannot be blank.' };

function tooLong(max: number): FieldError {
  return {
    code: 'validation_length_out_of_range',
    message: `The length must be between 1 and ${max}.`,
    params: { min: 1, max },
  };
}

async function findByIdentity(
  instance: Instance,
  collection: Collection,
  { identity, identityFields }: Pick<Credentials, 'identity' | 'identityFields'>,
): Promise<StoredRecord | undefined> {
  for (const name of identityFields) {
    const column = instance.database.names.column(name);
    const row = await instance.database.get(
      sql`SELECT id FROM ${instance.database.names.collectionTable(collection.name)} WHERE ${column} = ${identity} AND ${column} <> ''`,
    );
    if (row !== undefined) return findRecord(instance.database, collection, String(row['id']));
  }
  return undefined;
}

async function issueToken(instance: Instance, collection: Collection, record: StoredRecord): Promise<string> {
  const key = await findTokenKey(instance, collection, { record: idOf(record), kind: 'authToken' });
  if (key === undefined) throw new AppError('bad_request', 'Failed to authenticate.');
  const nowSeconds = Math.floor(instance.clock.now() / 1000);
  const exp = nowSeconds + (collection.auth?.authToken.duration ?? 0);
  const claims = { id: idOf(record), collectionId: collection.id, type: 'auth', refreshable: true, exp };
  return signToken(claims, key);
}

/** Hashes again with today's cost; only if nobody has changed the password meanwhile. */
async function strengthen(
  instance: Instance,
  secret: {
    readonly collection: string;
    readonly record: string;
    readonly hash: string;
    readonly password: string;
  },
): Promise<void> {
  const stronger = await hashPassword(secret.password);
  await instance.database.write((tx) =>
    tx.run(sql`
      UPDATE ${tx.names.table('$secret')} SET value = ${stronger}
      WHERE ${tx.names.scope} AND collection = ${secret.collection} AND record = ${secret.record} AND name = 'password' AND value = ${secret.hash}`),
  );
}

function idOf(record: StoredRecord): string {
  return String(valueOf(record, 'id'));
}
