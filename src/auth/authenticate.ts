/*
 * Authenticates callers. This file does it for a request, by an API key (api-keys.ts, key-rows.ts) or by the token of an account
 * (tokens.ts), which ends when its record gets another token key. The rest of the folder issues tokens:
 *
 * - sign-in.ts and one-time-password.ts find the account; finish-sign-in.ts is the rest of both: the collection's rule,
 *   second-factor.ts where one is required, and the token. sign-in.ts audits the outcome.
 * - verification.ts, password-reset.ts and email-change.ts work by a mailed token. The mail (account-mail.ts), like the
 *   code of request-otp.ts, is sent after the answer, whose timing would otherwise reveal which accounts exist. The confirmation sends
 *   the token back (mailed-token.ts).
 * - portal-links.ts issues links that sign in to some endpoints, and their sessions.
 * - account-rows.ts stores an account's rows in companion collections: one-time passwords, sessions of a second factor, origins.
 * - set-up.ts creates the first superuser, with a token that a start has printed; superuser.ts is for the command line.
 *
 *   header ── token, or API key or session of a portal with its bounds ──► Caller
 *   identity and password ──► record ──┐
 *   id and code ──► record ────────────┴── rule, second factor, token ──► SignedIn
 */

import { type Caller, guest } from '../access/caller.ts';
import { AppError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import { callerOf } from '../instances/token-secrets.ts';
import { existingEndpoints } from '../endpoints/endpoint-reach.ts';
import { toApiKey } from './api-keys.ts';
import { findKey } from './key-rows.ts';
import { callerOfPortal, sessionPrefix } from './portal-links.ts';
import { verifyRecordToken } from './tokens.ts';

/**
 * Returns the caller of a request by its `Authorization` header (`<token>` or `Bearer <token>`). A token that is invalid, expired,
 * of another kind or of another instance makes a guest, not an error: public routes stay public for everyone. Throws unauthorized
 * for an API key that is not valid, and for the session of a portal that has ended.
 */
export async function authenticate(instance: Instance, header: string | undefined): Promise<Caller> {
  if (header === undefined || header === '') return guest;
  const token = tokenOf(header);
  if (isApiKey(token)) return callerOfKey(instance, token);
  if (isPortalSession(header)) return callerOfPortal(instance, token);
  const verified = await verifyRecordToken(instance, token, { kind: 'authToken' });
  return verified === undefined ? guest : callerOf(verified.collection, verified.id);
}

/** Whether the header has the session of a portal link, valid or not. */
export function isPortalSession(header: string): boolean {
  return tokenOf(header).startsWith(sessionPrefix);
}

/** Returns the token in the header. Several spaces may follow the word (RFC 6750 section 2.1); a tab is accepted as well. */
export function tokenOf(header: string): string {
  return header.replace(/^bearer[ \t]+/i, '');
}

/** The error of a request that needs an account and has no valid token of one. */
export function tokenRequired(): AppError {
  return new AppError('unauthorized', 'The request requires valid record authorization token.');
}

/** Throws unauthorized or forbidden where the collection is known and has no accounts: nobody is one of them. */
export function requireAccounts({ collections }: Instance, nameOrId: string, caller: Caller): void {
  const collection = collections.find(nameOrId);
  if (collection === undefined || collection.auth !== undefined) return;
  throw caller.kind === 'guest' ? tokenRequired() : accountRequired(collection);
}

/** The error of a caller that is not an account of this collection. */
export function accountRequired({ name }: Collection): AppError {
  return new AppError('forbidden', `The request requires auth record from ${name} collection.`);
}

/**
 * True for an API key, of an instance (`ck_`) or of the operator (`co_`); a token never begins like one, as it is JSON in base64, whose first
 * letters are `ey`.
 */
function isApiKey(text: string): boolean {
  return text.startsWith('ck_') || text.startsWith('co_');
}

/**
 * Returns the caller that a key stands for. Throws unauthorized for a key that is wrong, expired or revoked, and for one of the operator: a
 * program must get an error, not go on as a guest.
 */
async function callerOfKey(instance: Instance, text: string): Promise<Caller> {
  const row = await findKey(instance, 'ck_', text);
  if (row === undefined)
    throw new AppError('unauthorized', 'The API key is not valid, has expired or was revoked.');
  const { id, scopes, collections, endpoints: bound } = toApiKey(row);
  const endpoints = bound && (await existingEndpoints(instance.database, bound));
  return { kind: 'superuser', id, key: { scopes, collections, endpoints } };
}
