import { notFound } from '../base/errors.ts';
import type { TokenKind } from '../collections/auth-options.ts';
import type { Instance } from '../instances/instance.ts';
import { signToken, type TokenClaims } from '../secrets/token.ts';
import { findTokenKey } from './find-token-key.ts';
import { tokenTypes } from './verify-record-token.ts';
import type { AuthCollection } from './with-auth-collection.ts';

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
  { collection, id, kind, claims = {}, seconds = collection.auth[kind].duration, key: known }: TokenToIssue,
): Promise<string> {
  const key = known ?? (await findTokenKey(instance, collection, { record: id, kind }));
  if (key === undefined) throw notFound();
  const exp = Math.floor(instance.clock.now() / 1000) + seconds;
  return signToken({ id, collectionId: collection.id, type: tokenTypes[kind], ...claims, exp }, key);
}
