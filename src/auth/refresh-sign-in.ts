import type { RuleInput } from '../access/rule-input.ts';
import { AppError, notFound } from '../base/errors.ts';
import { type JsonObject, ownMember } from '../base/json.ts';
import { fieldError, invalidValue } from '../fields/field-error.ts';
import type { Instance } from '../instances/instance.ts';
import type { Actor } from '../logs/audit-entry.ts';
import { findRecord } from '../records/find-record.ts';
import { withAuthCollection } from './auth-collection.ts';
import { accountRequired, requireAccounts, tokenOf, tokenRequired } from './authenticate.ts';
import { requireSignInAllowed, type SignedIn } from './finish-sign-in.ts';
import { issueToken, verifyRecordToken } from './tokens.ts';

export interface RefreshRequest {
  readonly collection: string;
  /** The `Authorization` header as it came. */
  readonly header: string | undefined;
}

/**
 * Issues a new token for the record of the sent one; a token that is not refreshable is returned as it is. Throws not_found
 * (collection), unauthorized, forbidden (an account of another collection, or the collection's rule).
 */
export function refreshSignIn(
  instance: Instance,
  input: RuleInput,
  request: RefreshRequest,
): Promise<SignedIn> {
  requireAccounts(instance, request.collection, input.caller);
  return withAuthCollection(instance, request.collection, async (collection) => {
    const token = tokenOf(request.header ?? '');
    const verified = await verifyRecordToken(instance, token, { kind: 'authToken' });
    if (verified === undefined) throw tokenRequired();
    const { id, claims, key } = verified;
    if (verified.collection.id !== collection.id) throw accountRequired(collection);
    const record = await findRecord(instance.database, collection, id);
    if (record === undefined) throw tokenRequired();
    await requireSignInAllowed(instance, input, { collection, id });
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

/** Three years: the longest duration that a collection may set for its tokens. */
const secondsMax = 94_670_856;

export interface ImpersonateRequest {
  readonly collection: string;
  readonly id: string;
  readonly body: JsonObject;
  readonly actor: Actor;
}

/** Issues a token of another's account that cannot be refreshed, and audits that. For superusers. Throws not_found, bad_request. */
export function impersonate(
  instance: Instance,
  { collection: name, id, body, actor }: ImpersonateRequest,
): Promise<SignedIn> {
  return withAuthCollection(instance, name, async (collection) => {
    const seconds = decodeDuration(body) || collection.auth.authToken.duration;
    const record = await findRecord(instance.database, collection, id);
    if (record === undefined) throw notFound();
    const claims = { refreshable: false };
    const token = await issueToken(instance, { collection, id, kind: 'authToken', claims, seconds });
    const entry = { action: 'impersonate', collection: collection.id, target: id } as const;
    await instance.database.write((tx) => instance.audit.append(tx, actor, entry));
    return { record, collection, token };
  });
}

/** Returns the requested seconds; 0 means the collection's own duration. */
function decodeDuration(body: JsonObject): number {
  const duration = ownMember(body, 'duration') ?? 0;
  const isWhole = typeof duration === 'number' && Number.isInteger(duration);
  if (isWhole && duration >= 0 && duration <= secondsMax) return duration;
  const problem =
    isWhole && duration < 0
      ? fieldError('validation_min_greater_equal_than_required', { threshold: 0 })
      : isWhole
        ? fieldError('validation_max_less_equal_than_required', { threshold: secondsMax })
        : invalidValue('Must be a whole number of seconds.');
  throw new AppError('bad_request', 'An error occurred while validating the submitted data.', {
    details: { duration: problem },
  });
}
