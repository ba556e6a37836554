/*
 * Who a caller is. This file says so of a request, by an API key (caller-of-key.ts) or by the token of an account
 * (verify-record-token.ts), which ends when its record gets another token key. The rest of the folder gives out both:
 *
 * - sign-in.ts and sign-in-with-otp.ts find out whose account it is; finish-sign-in.ts is the same for both: the collection's rule
 *   (require-sign-in-allowed.ts), a second-factor.ts where one is wanted, issue-token.ts. note-sign-in.ts audits how it ended.
 * - request-*.ts mail a token or a password (mail-account.ts) after the answer, whose time would else tell which accounts there
 *   are; confirm-*.ts take the token (mailed-token.ts).
 * - account-rows.ts keeps what an account has beside its record, in a companion collection (get-companion.ts): one-time passwords,
 *   sessions of a second factor, origins.
 * - set-up.ts makes the first superuser, for whoever has the setup-token.ts; superuser.ts is the command line's.
 *
 *   header ── verify-record-token ──► claims ── caller-of ──► Caller                              authenticate
 *   header ── caller-of-key ──► Caller, with bounds                                               authenticate
 *   identity and password ── find-by-identity ──► record ──┐
 *   id and code ── sign-in-with-otp ──► record ────────────┴── finish-sign-in: rule, second factor, token ──► SignedIn
 *   request-… ── mail-account ──► a mail with a token ── mailed-token ──► confirm-…
 */

import { callerOf } from '../instances/caller-of.ts';
import type { Instance } from '../instances/instance.ts';
import { guest, type Caller } from '../rules/caller.ts';
import { callerOfKey, isApiKey } from './caller-of-key.ts';
import { verifyRecordToken } from './verify-record-token.ts';

/**
 * Who a request comes from, by its `Authorization` header (`<token>` or `Bearer <token>`). A token that is invalid, expired,
 * of another kind or of another instance makes a guest, not an error: public routes stay public for everyone. Throws unauthorized
 * for an API key that is none.
 */
export async function authenticate(instance: Instance, header: string | undefined): Promise<Caller> {
  if (header === undefined || header === '') return guest;
  const token = tokenOf(header);
  if (isApiKey(token)) return callerOfKey(instance, token);
  const verified = await verifyRecordToken(instance, token, { kind: 'authToken' });
  return verified === undefined ? guest : callerOf(verified.collection, verified.id);
}

/** The token in the header: behind the word there may be several spaces (RFC 6750 section 2.1), and a tab is as good. */
export function tokenOf(header: string): string {
  return header.replace(/^bearer[ \t]+/i, '');
}
