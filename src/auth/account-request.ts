import { AppError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { superusersName } from '../collections/superusers-name.ts';
import type { Instance } from '../instances/instance.ts';
import type { Mailer } from '../mail/mailer.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import type { AuthCollection } from './with-auth-collection.ts';

/** A request about an account, from a client that may not be signed in. */
export interface AccountRequest {
  readonly collection: string;
  readonly facts: RequestFacts;
  readonly body: JsonObject;
}

/**
 * Work that runs after the request was answered, so that the answer is the same, and takes the same time, whether or not there is
 * such an account. The collection may have been changed by then, so the work looks it up again.
 */
export type WorkAfterAnswer = (instance: Instance, mailer: Mailer) => Promise<void>;

/** Throws bad_request when the collection does not let accounts in by password, so that there is none to reset. */
export function requirePasswordAuth({ auth }: AuthCollection): void {
  if (!auth.passwordAuth.enabled)
    throw new AppError('bad_request', 'The collection is not configured to allow password authentication.');
}

/** Throws bad_request with this message if the collection is that of superusers, for whom the request makes no sense. */
export function refuseSuperusers({ name }: AuthCollection, message: string): void {
  if (name === superusersName) throw new AppError('bad_request', message);
}
