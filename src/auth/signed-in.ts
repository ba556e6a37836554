import type { StoredRecord } from '../records/record.ts';
import type { AuthCollection } from './with-auth-collection.ts';

/**
 * What a sign-in answers. The map of this folder:
 *
 *   header ── verify-record-token ──► claims ── caller-of ──► Caller                              authenticate
 *   header ── caller-of-key ──► Caller, with bounds                                               authenticate
 *   identity and password ── find-by-identity ──► record ──┐
 *   id and code ── sign-in-with-otp ──► record ────────────┴── finish-sign-in: rule, second factor, token ──► SignedIn
 *   request-… ── mail-account ──► a mail with a token ── mailed-token ──► confirm-…
 */
export interface SignedIn {
  readonly token: string;
  readonly collection: AuthCollection;
  readonly record: StoredRecord;
}

/** What a sign-in comes to: the account is in, or has to show more. */
export type SignInResult =
  | { readonly kind: 'signed in'; readonly signedIn: SignedIn }
  | { readonly kind: 'second factor'; readonly mfaId: string };
