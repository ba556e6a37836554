import { notFound } from '../base/errors.ts';
import type { TokenKind } from '../collections/auth-options.ts';
import type { Instance } from '../instances/instance.ts';
import { signToken, type TokenClaims } from '../secrets/token.ts';
import { findTokenKey } from './find-token-key.ts';
import { tokenTypes } from './verify-record-token.ts';
import type { AuthCollection } from './with-auth-collection.ts';

export interface TokenToIssue {
  readonly collection: AuthCollection;
  /** Of the record. */
  readonly id: string;
  readonly kind: TokenKind;
  /** Beside what every token claims. */
  readonly claims?: TokenClaims;
  /** Instead of what the collection says. */
  readonly seconds?: number;
  /** As it was before it was shown whose account this is: what ends sessions meanwhile makes the token worthless. Otherwise as it is now. */
  readonly key?: string;
}

/** Throws not_found when the record has just gone. */
export async function issueToken(
  instance: Instance,
  { collection, id, kind, claims = {}, seconds = collection.auth[kind].duration, key: known }: TokenToIssue,
): Promise<string> {
  const key = known ?? (await findTokenKey(instance, collection, { record: id, kind }));
  if (key === undefined) throw notFound();
  const exp = Math.floor(instance.clock.now() / 1000) + seconds;
  return signToken({ id, collectionId: collection.id, type: tokenTypes[kind], ...claims, exp }, key);
}
