import type { KeyScope } from './key-scope.ts';

/** Who asks. Made from the credentials of a request; operations decide by it and by nothing else. */
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
  /** Id of the record in `_superusers`; of the API key where one asks. */
  readonly id: string;
  /** Where an API key asks, which acts as a superuser within these bounds; absent for superusers themselves. */
  readonly key?: KeyBounds;
}

/** What an API key is good for (http-api A10). Asked by `hasScope` and `reaches`. */
export interface KeyBounds {
  readonly scopes: readonly KeyScope[];
  /** Ids of the collections whose records it reaches; null for all but those of the service itself. */
  readonly collections: readonly string[] | null;
}

export const guest: Guest = { kind: 'guest' };
