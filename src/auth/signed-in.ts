import type { StoredRecord } from '../records/record.ts';
import type { AuthCollection } from './with-auth-collection.ts';

/** What a sign-in answers. */
export interface SignedIn {
  readonly token: string;
  readonly collection: AuthCollection;
  readonly record: StoredRecord;
}

/** What a sign-in comes to: the account is in, or has to show more. */
export type SignInResult =
  | { readonly kind: 'signed in'; readonly signedIn: SignedIn }
  | { readonly kind: 'second factor'; readonly mfaId: string };
