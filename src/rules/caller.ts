import type { KeyScope } from './key-scope.ts';

/** Who makes a request, found from its credentials. Operations decide by nothing else. */
export type Caller = Guest | User | Superuser;

export interface Guest {
  readonly kind: 'guest';
}

/** A record of an auth collection. */
export interface User {
  readonly kind: 'user';
  readonly id: string;
  readonly collectionId: string;
}

export interface Superuser {
  readonly kind: 'superuser';
  /** The id of the record in `_superusers`, or of the API key. */
  readonly id: string;
  /** The bounds of an API key, which acts as a superuser within them; absent for superusers themselves. */
  readonly key?: KeyBounds;
}

/** What an API key may be used for (http-api A10). Checked by `hasScope` and `reaches`. */
export interface KeyBounds {
  readonly scopes: readonly KeyScope[];
  /** Ids of the collections whose records it reaches; null for all except system collections. */
  readonly collections: readonly string[] | null;
}

export const guest: Guest = { kind: 'guest' };
