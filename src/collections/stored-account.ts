import { withAccountFields } from './account-field.ts';
import { withAccountIndexes } from './account-indexes.ts';
import { defaultAuthOptions, type AuthOptions } from './auth-options.ts';
import type { Collection } from './collection.ts';

/** Auth options as definitions store them. The second form is from before accounts existed, and was only used for superusers. */
export type StoredAuth =
  AuthOptions | { readonly identityFields: readonly string[]; readonly tokenSeconds: number };

/** Returns an auth collection with all that such collections have gained since its definition was stored. */
export function storedAccount(collection: Collection, auth: StoredAuth): Collection {
  return {
    ...collection,
    fields: withAccountFields(collection.fields),
    indexes: withAccountIndexes(collection.id, collection.indexes),
    auth: { ...defaultAuthOptions, ...('tokenSeconds' in auth ? renewed(auth) : auth) },
  };
}

function renewed(auth: Extract<StoredAuth, { readonly tokenSeconds: number }>): Partial<AuthOptions> {
  return {
    passwordAuth: { enabled: true, identityFields: auth.identityFields },
    authToken: { duration: auth.tokenSeconds },
  };
}
