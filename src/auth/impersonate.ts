import type { Actor } from '../audit/audit-entry.ts';
import { auditLogOf } from '../audit/audit-log.ts';
import { AppError, notFound } from '../base/errors.ts';
import { ownMember, type JsonObject } from '../base/json.ts';
import type { Instance } from '../instances/instance.ts';
import { fieldError, invalidValue } from '../fields/field-error.ts';
import { findRecord } from '../records/find-record.ts';
import { issueToken } from './issue-token.ts';
import type { SignedIn } from './signed-in.ts';
import { withAuthCollection } from './with-auth-collection.ts';

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
    await instance.database.write((tx) => auditLogOf(instance).append(tx, actor, entry));
    return { record, collection, token };
  });
}

/** Returns the seconds asked for; 0 means the collection's own duration. */
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
