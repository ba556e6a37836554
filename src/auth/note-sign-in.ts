import { auditLogOf } from '../audit/audit-log.ts';
import { AppError } from '../base/errors.ts';
import type { Instance } from '../instances/instance.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import { callerOf } from '../instances/caller-of.ts';
import type { SignInResult } from './signed-in.ts';
import type { AuthCollection } from './with-auth-collection.ts';

/** The account that a client tries to sign in to. */
export interface SignInAttempt {
  readonly facts: RequestFacts;
  readonly collection: AuthCollection;
  /** Id of the record; empty when there is no such account. */
  readonly id: string;
}

/** Runs a sign-in and audits its outcome; the sign-in does not wait for the audit log. */
export async function noteSignIn(
  instance: Instance,
  { facts, collection, id }: SignInAttempt,
  signIn: () => Promise<SignInResult>,
): Promise<SignInResult> {
  const audit = auditLogOf(instance);
  const entry = { action: 'sign-in', collection: collection.id, target: id } as const;
  try {
    const result = await signIn();
    if (result.kind === 'signed in') audit.note({ ...facts, caller: callerOf(collection, id) }, entry);
    else audit.note(facts, { ...entry, outcome: 'refused', details: { reason: result.kind } });
    return result;
  } catch (error) {
    const reason = error instanceof AppError ? refusals.get(error.code) : undefined;
    if (reason !== undefined) audit.note(facts, { ...entry, outcome: 'refused', details: { reason } });
    throw error;
  }
}

const refusals: ReadonlyMap<string, string> = new Map([
  ['bad_request', 'credentials'],
  ['forbidden', 'rule'],
  ['too_many_requests', 'too many'],
]);
