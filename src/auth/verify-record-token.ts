import type { TokenKind } from '../collections/auth-options.ts';
import type { Collection } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import { decodeToken, verifyToken, type TokenClaims } from '../secrets/token.ts';
import type { Reader } from '../storage/database.ts';
import { findTokenKey } from './find-token-key.ts';

export interface VerifiedToken {
  readonly claims: TokenClaims;
  /** The collection of the token's record, which existed when the token was verified. */
  readonly collection: Collection;
  readonly id: string;
  /** The key that verified it. */
  readonly key: string;
}

/** The `type` that a token of this kind claims. */
export const tokenTypes: Readonly<Record<TokenKind, string>> = {
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
