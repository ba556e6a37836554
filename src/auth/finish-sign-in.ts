import type { Instance } from '../instances/instance.ts';
import { valueOf, type StoredRecord } from '../records/record.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import { issueToken } from './issue-token.ts';
import { requireSignInAllowed } from './require-sign-in-allowed.ts';
import { askSecondFactor, type SignInMethod } from './second-factor.ts';
import type { SignInResult } from './signed-in.ts';
import type { AuthCollection } from './with-auth-collection.ts';

export interface ShownAccount {
  readonly collection: AuthCollection;
  readonly record: StoredRecord;
  /** By which it was shown whose account it is. */
  readonly method: SignInMethod;
  /** Of its tokens, as it was before that was looked at. */
  readonly tokenKey: string;
}

/** What comes behind every way to sign in: the collection's rule, the second factor, the token. Throws forbidden, bad_request. */
export async function finishSignIn(
  instance: Instance,
  facts: RequestFacts,
  { collection, record, method, tokenKey }: ShownAccount,
): Promise<SignInResult> {
  const id = String(valueOf(record, 'id'));
  const asked = { ...facts, context: method };
  await requireSignInAllowed(instance, asked, { collection, id });
  const mfaId = await askSecondFactor(instance, asked, { collection, id, method, tokenKey });
  if (mfaId !== undefined) return { kind: 'second factor', mfaId };
  const claims = { refreshable: true };
  const token = await issueToken(instance, { collection, id, kind: 'authToken', claims, key: tokenKey });
  return { kind: 'signed in', signedIn: { record, collection, token } };
}
