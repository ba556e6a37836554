import { AppError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Instance } from '../instances/instance.ts';
import { superusersName } from '../instances/system-collections.ts';
import type { Mailer } from '../mail/mailer.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import type { AuthCollection } from './with-auth-collection.ts';

/** What is asked about an account by somebody who may be nobody yet. */
export interface AccountRequest {
  readonly collection: string;
  readonly facts: RequestFacts;
  readonly body: JsonObject;
}

/**
 * What is left to be done once the request was answered, so that its answer is the same, and takes the same time, whether or not
 * there is such an account. By then the collection may be another one: it is looked for again.
 */
export type WorkAfterAnswer = (instance: Instance, mailer: Mailer) => Promise<void>;

/** Throws bad_request where no password lets anybody in, and none is reset. */
export function requirePasswordAuth({ auth }: AuthCollection): void {
  if (!auth.passwordAuth.enabled)
    throw new AppError('bad_request', 'The collection is not configured to allow password authentication.');
}

/** Throws bad_request where what is asked makes no sense for superusers. */
export function refuseSuperusers({ name }: AuthCollection, message: string): void {
  if (name === superusersName) throw new AppError('bad_request', message);
}
