import { assert } from '../base/assert.ts';
import { notFound } from '../base/errors.ts';
import type { Collection, TokenKind } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import { tokenSecretPlace } from '../instances/token-secrets.ts';
import { decodeToken, signToken, type TokenClaims, verifyToken } from '../secrets/token.ts';
import { lookupByKey, sql } from '../sql/sql.ts';
import type { Reader } from '../storage/database.ts';
import type { AuthCollection } from './auth-collection.ts';

export interface TokenUse {
  /** The id of the record that the token belongs to. */
  readonly record: string;
  readonly kind: TokenKind;
  /** Where to read: inside a transaction it must be the transaction, as nothing else may be awaited there. */
  readonly reader?: Reader;
}

/** Opened secrets by their sealed texts: opening one is costly, and every request with a token needs one. */
const opened = new WeakMap<Instance, Map<string, string>>();
/** Far more than an instance has auth collections. A full map is simply emptied, which saves keeping an order of use. */
const openedMax = 5_000;

/**
 * Returns the key that signs and verifies a record's tokens of one kind: the record's own token key followed by its collection's
 * secret; undefined when the record was deleted. The answer always matches the database: a changed password ends the record's sessions
 * at once, and a renewed secret those of the whole collection, on every node.
 */
export async function findTokenKey(
  instance: Instance,
  collection: Collection,
  { record, kind, reader = instance.database }: TokenUse,
): Promise<string | undefined> {
  const { names } = reader;
  const table = names.table('$secret');
  // A join of two rows by their full keys and not `IN (…)`, for which SQLite would build a table each time.
  const select = sql`
    SELECT own.value, shared.value FROM ${table} AS own
    LEFT JOIN ${table} AS shared ON ${names.instance.conditionOf('shared')} AND shared.collection = ${collection.id} AND shared.record = '' AND shared.name = ${kind}
    WHERE ${names.instance.conditionOf('own')} AND own.collection = ${collection.id} AND own.name = 'tokenKey' AND own.record = ${record}`;
  const [row] = await reader.tuples(lookupByKey(select));
  if (row === undefined) return undefined;
  const [own, sealed] = row;
  assert(typeof sealed === 'string', `the auth collection ${collection.name} has a secret for its ${kind}`);
  return String(own) + openSecret(instance, collection, { kind, sealed });
}

function openSecret(
  instance: Instance,
  collection: Collection,
  { kind, sealed }: { readonly kind: TokenKind; readonly sealed: string },
): string {
  let secrets = opened.get(instance);
  if (secrets === undefined || secrets.size >= openedMax)
    opened.set(instance, (secrets = new Map<string, string>()));
  const cached = secrets.get(sealed);
  if (cached !== undefined) return cached;
  const secret = instance.sealer.open(sealed, tokenSecretPlace(collection.id, kind));
  secrets.set(sealed, secret);
  return secret;
}

export interface TokenToIssue {
  readonly collection: AuthCollection;
  /** Id of the record. */
  readonly id: string;
  readonly kind: TokenKind;
  /** Claims besides those of every token. */
  readonly claims?: TokenClaims;
  /** How long the token is valid, instead of the collection's duration. */
  readonly seconds?: number;
  /**
   * The token key as it was before the credentials were checked, so that whatever ends sessions in between also makes this token
   * invalid. By default the current one.
   */
  readonly key?: string;
}

/** Signs a token for a record. Throws not_found when the record has just been deleted. */
export async function issueToken(
  instance: Instance,
  {
    collection,
    id,
    kind,
    claims = {},
    seconds = collection.auth[kind].duration,
    key: earlierKey,
  }: TokenToIssue,
): Promise<string> {
  const key = earlierKey ?? (await findTokenKey(instance, collection, { record: id, kind }));
  if (key === undefined) throw notFound();
  const exp = Math.floor(instance.clock.now() / 1000) + seconds;
  return signToken({ id, collectionId: collection.id, type: tokenTypes[kind], ...claims, exp }, key);
}

export interface VerifiedToken {
  readonly claims: TokenClaims;
  /** The collection of the token's record, which existed when the token was verified. */
  readonly collection: Collection;
  readonly id: string;
  /** The key that verified it. */
  readonly key: string;
}

/** The `type` that a token of this kind claims. */
const tokenTypes: Readonly<Record<TokenKind, string>> = {
  authToken: 'auth',
  passwordResetToken: 'passwordReset',
  emailChangeToken: 'emailChange',
  verificationToken: 'verification',
  fileToken: 'file',
};

/** Returns the record that a token belongs to, if it is valid and of this kind. Inside a transaction `reader` must be that. */
export async function verifyRecordToken(
  instance: Instance,
  token: string,
  { kind, reader = instance.database }: { readonly kind: TokenKind; readonly reader?: Reader },
): Promise<VerifiedToken | undefined> {
  const claims = decodeToken(token);
  if (claims === undefined || claims['type'] !== tokenTypes[kind]) return undefined;
  const { id, collectionId } = claims;
  if (typeof id !== 'string' || typeof collectionId !== 'string') return undefined;
  // It may have been made by another node; inside a transaction definitions are those of the database.
  if (reader === instance.database && instance.collections.find(collectionId) === undefined)
    await instance.refresh();
  const collection = instance.collections.find(collectionId);
  if (collection?.type !== 'auth' || collection.id !== collectionId) return undefined;
  const key = await findTokenKey(instance, collection, { record: id, kind, reader });
  if (key === undefined) return undefined;
  const verified = verifyToken(token, key, Math.floor(instance.clock.now() / 1000));
  return verified === undefined ? undefined : { claims: verified, collection, id, key };
}
