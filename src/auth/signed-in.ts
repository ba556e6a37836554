import type { StoredRecord } from '../records/record.ts';
import type { AuthCollection } from './with-auth-collection.ts';

/** What a sign-in answers. */
export interface SignedIn {
  readonly token: string;
  readonly collection: AuthCollection;
  readonly record: StoredRecord;
}

/** How a sign-in ends: the account is signed in, or needs a second factor. */
export type SignInResult =
  | { readonly kind: 'signed in'; readonly signedIn: SignedIn }
  | { readonly kind: 'second factor'; readonly mfaId: string };
