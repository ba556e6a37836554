import { AppError } from '../base/errors.ts';
import type { AuthOptions, Collection } from '../collections/collection.ts';
import { withCurrentCollection } from '../instances/current-collection.ts';
import type { Instance } from '../instances/instance.ts';

/** A collection of accounts. */
export interface AuthCollection extends Collection {
  readonly auth: AuthOptions;
}

/** Runs `work` with the current definition of an auth collection. Throws not_found when there is none by that name or id. */
export async function withAuthCollection<Result>(
  instance: Instance,
  nameOrId: string,
  work: (collection: AuthCollection) => Promise<Result>,
): Promise<Result> {
  // Another node may have made it.
  if (instance.collections.find(nameOrId) === undefined) await instance.refresh();
  if (instance.collections.find(nameOrId) === undefined)
    throw new AppError('not_found', 'Missing or invalid collection context.');
  return withCurrentCollection(instance, nameOrId, (collection) => {
    if (!isAuthCollection(collection)) throw noAuthCollection();
    return work(collection);
  });
}

function isAuthCollection(collection: Collection): collection is AuthCollection {
  return collection.auth !== undefined;
}

function noAuthCollection(): AppError {
  return new AppError('not_found', 'Missing or invalid auth collection context.');
}

/** How a client begins a sign-in at a provider. The members are those of the reference, in their order. */
export interface ProviderMethod {
  readonly name: string;
  readonly displayName: string;
  readonly logo: string;
  readonly state: string;
  /** Ends with `redirect_uri=`, to which the client appends its own. */
  readonly authURL: string;
  readonly authUrl: string;
  readonly codeVerifier: string;
  readonly codeChallenge: string;
  readonly codeChallengeMethod: string;
}

/** Returns how accounts of the collection may sign in. The last three members are for clients of earlier PocketBase versions. */
export function authMethodsJson({ auth }: AuthCollection, providers: readonly ProviderMethod[]): string {
  const { passwordAuth, mfa, otp, oauth2 } = auth;
  const identityFields = passwordAuth.enabled ? passwordAuth.identityFields : [];
  return JSON.stringify({
    password: { identityFields, enabled: passwordAuth.enabled },
    oauth2: { providers, enabled: oauth2.enabled },
    mfa: { enabled: mfa.enabled, duration: mfa.enabled ? mfa.duration : 0 },
    otp: { enabled: otp.enabled, duration: otp.enabled ? otp.duration : 0 },
    authProviders: providers.map((provider) => ({ ...provider, logo: '' })),
    usernamePassword: identityFields.includes('username'),
    emailPassword: identityFields.includes('email'),
  });
}
