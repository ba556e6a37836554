/** Who asks. Made from the credentials of a request; operations decide by it and by nothing else. */
export type Caller = Guest | Superuser;

export interface Guest {
  readonly kind: 'guest';
}

export interface Superuser {
  readonly kind: 'superuser';
  /** Id of the record in `_superusers`. */
  readonly id: string;
}

export const guest: Guest = { kind: 'guest' };
