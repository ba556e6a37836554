import { AppError } from '../base/errors.ts';
import type { Instance } from '../instances/instance.ts';
import { findRecord } from '../records/find-record.ts';
import { valueOf, type StoredRecord } from '../records/record.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import { issueToken } from './issue-token.ts';
import { requireMethod } from './require-method.ts';
import { requireSignInAllowed } from './require-sign-in-allowed.ts';
import { askSecondFactor, type SignInMethod } from './second-factor.ts';
import type { SignInResult } from './signed-in.ts';
import { withAuthCollection } from './with-auth-collection.ts';

export interface ShownAccount {
  readonly record: StoredRecord;
  /** How the account was shown to be the client's. */
  readonly method: SignInMethod;
  /** The account's token key, read before its password or code was checked. */
  readonly tokenKey: string;
}

/**
 * The end of every sign-in: checks that the method is still switched on, then the collection's rule and the second factor, and
 * issues the token. It uses the collection's current definition, as that may have changed since the sign-in began. If it changes
 * once more, only this part is repeated: repeating the whole sign-in would find a code used up. Throws forbidden, bad_request.
 */
export function finishSignIn(
  instance: Instance,
  facts: RequestFacts,
  { record: shown, method, tokenKey }: ShownAccount,
): Promise<SignInResult> {
  const id = String(valueOf(shown, 'id'));
  const asked = { ...facts, context: method };
  return withAuthCollection(instance, shown.collection.id, async (collection) => {
    requireMethod(collection, method);
    const isCurrent = shown.collection === collection;
    const record = isCurrent ? shown : await findRecord(instance.database, collection, id);
    if (record === undefined) throw new AppError('bad_request', 'Failed to authenticate.');
    await requireSignInAllowed(instance, asked, { collection, id });
    const mfaId = await askSecondFactor(instance, asked, { collection, id, method, tokenKey });
    if (mfaId !== undefined) return { kind: 'second factor', mfaId };
    const claims = { refreshable: true };
    const token = await issueToken(instance, { collection, id, kind: 'authToken', claims, key: tokenKey });
    return { kind: 'signed in', signedIn: { record, collection, token } };
  });
}
