/*
 * Who a caller is. This file finds that out for a request, by an API key (all about those is in keys/) or by the token of an account
 * (verify-record-token.ts), which ends when its record gets another token key. The rest of the folder issues tokens:
 *
 * - sign-in.ts and sign-in-with-otp.ts find the account; finish-sign-in.ts is the rest of both: the collection's rule
 *   (require-sign-in-allowed.ts), second-factor.ts where one is required, issue-token.ts. note-sign-in.ts audits the outcome.
 * - mailed/ is what goes by a mailed token: its request-*.ts mail one (mail-account.ts), as request-otp.ts mails a code, after the
 *   answer, whose timing would otherwise tell which accounts exist; its confirm-*.ts take the token back (mailed-token.ts).
 * - account-rows.ts keeps an account's rows in companion collections (get-companion.ts): one-time passwords, sessions of a
 *   second factor, origins.
 * - set-up.ts makes the first superuser, with a token of setup-token.ts; superuser.ts is for the command line.
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
import { callerOfKey, isApiKey } from './keys/caller-of-key.ts';
import { verifyRecordToken } from './verify-record-token.ts';

/**
 * Returns the caller of a request by its `Authorization` header (`<token>` or `Bearer <token>`). A token that is invalid, expired,
 * of another kind or of another instance makes a guest, not an error: public routes stay public for everyone. Throws unauthorized
 * for an API key that is not valid.
 */
export async function authenticate(instance: Instance, header: string | undefined): Promise<Caller> {
  if (header === undefined || header === '') return guest;
  const token = tokenOf(header);
  if (isApiKey(token)) return callerOfKey(instance, token);
  const verified = await verifyRecordToken(instance, token, { kind: 'authToken' });
  return verified === undefined ? guest : callerOf(verified.collection, verified.id);
}

/** Returns the token in the header. Several spaces may follow the word (RFC 6750 section 2.1); a tab is accepted as well. */
export function tokenOf(header: string): string {
  return header.replace(/^bearer[ \t]+/i, '');
}
