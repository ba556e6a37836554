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
  /** Id of the record in `_superusers`. */
  readonly id: string;
}

export const guest: Guest = { kind: 'guest' };
