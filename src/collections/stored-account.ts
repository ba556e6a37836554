import { withAccountFields } from './account-field.ts';
import { withAccountIndexes } from './account-indexes.ts';
import { defaultAuthOptions, type AuthOptions } from './auth-options.ts';
import type { Collection } from './collection.ts';

/** As definitions keep it. The second form is from before accounts: of superusers alone. */
export type StoredAuth =
  AuthOptions | { readonly identityFields: readonly string[]; readonly tokenSeconds: number };

/** An auth collection with all that has come to such collections since its definition was stored. */
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
