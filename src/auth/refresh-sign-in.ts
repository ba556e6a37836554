import type { Instance } from '../instances/instance.ts';
import { findRecord } from '../records/find-record.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import { tokenOf } from './authenticate.ts';
import { issueToken } from './issue-token.ts';
import { requireSignInAllowed } from './require-sign-in-allowed.ts';
import type { SignedIn } from './signed-in.ts';
import { accountRequired, tokenRequired } from './token-required.ts';
import { verifyRecordToken } from './verify-record-token.ts';
import { withAuthCollection } from './with-auth-collection.ts';

export interface RefreshRequest {
  readonly collection: string;
  /** The `Authorization` header as it came. */
  readonly header: string | undefined;
}

/**
 * Issues a new token for the record of the given one; a token that is not refreshable is returned as it is. Throws not_found
 * (collection), unauthorized, forbidden (an account of another collection, or the collection's rule).
 */
export function refreshSignIn(
  instance: Instance,
  facts: RequestFacts,
  request: RefreshRequest,
): Promise<SignedIn> {
  return withAuthCollection(instance, request.collection, async (collection) => {
    const token = tokenOf(request.header ?? '');
    const verified = await verifyRecordToken(instance, token, { kind: 'authToken' });
    if (verified === undefined) throw tokenRequired();
    const { id, claims, key } = verified;
    if (verified.collection.id !== collection.id) throw accountRequired(collection);
    const record = await findRecord(instance.database, collection, id);
    if (record === undefined) throw tokenRequired();
    await requireSignInAllowed(instance, facts, { collection, id });
    if (claims['refreshable'] !== true) return { record, collection, token };
    const fresh = await issueToken(instance, {
      collection,
      id,
      kind: 'authToken',
      claims: { refreshable: true },
      key,
    });
    return { record, collection, token: fresh };
  });
}
