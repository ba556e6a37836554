import type { RuleInput } from '../access/rule-input.ts';
import { AppError } from '../base/errors.ts';
import type { Instance } from '../instances/instance.ts';
import { boundRule } from '../records/check-rule.ts';
import { findAllowed, findRecord } from '../records/find-record.ts';
import { type StoredRecord, valueOf } from '../records/record.ts';
import { type AuthCollection, withAuthCollection } from './auth-collection.ts';
import { requireSecondFactor, type SignInMethod } from './second-factor.ts';
import { issueToken } from './tokens.ts';

export interface SignInProof {
  readonly record: StoredRecord;
  /** How the client proved that the account is its own. */
  readonly method: SignInMethod;
  /** The account's token key, read before its password or code was checked. */
  readonly tokenKey: string;
}

/**
 * The end of every sign-in: checks that the method is still switched on, then the collection's rule and the second factor, and
 * issues the token. It uses the collection's current definition, as that may have changed since the sign-in began. If it changes
 * once more, only this part is repeated: repeating the whole sign-in would find a code used up. Throws forbidden, bad_request.
 */
export function finishSignIn(
  instance: Instance,
  input: RuleInput,
  { record: account, method, tokenKey }: SignInProof,
): Promise<SignInResult> {
  const id = String(valueOf(account, 'id'));
  const methodInput = { ...input, context: method };
  return withAuthCollection(instance, account.collection.id, async (collection) => {
    requireMethod(collection, method);
    const isCurrent = account.collection === collection;
    const record = isCurrent ? account : await findRecord(instance.database, collection, id);
    if (record === undefined) throw new AppError('bad_request', 'Failed to authenticate.');
    await requireSignInAllowed(instance, methodInput, { collection, id });
    const mfaId = await requireSecondFactor(instance, methodInput, { collection, id, method, tokenKey });
    if (mfaId !== undefined) return { kind: 'second factor', mfaId };
    const claims = { refreshable: true };
    const token = await issueToken(instance, { collection, id, kind: 'authToken', claims, key: tokenKey });
    return { kind: 'signed in', signedIn: { record, collection, token } };
  });
}

/** The result of a sign-in that succeeded. */
export interface SignedIn {
  readonly token: string;
  readonly collection: AuthCollection;
  readonly record: StoredRecord;
}

/** How a sign-in ends: the account is signed in, or needs a second factor. */
export type SignInResult =
  | { readonly kind: 'signed in'; readonly signedIn: SignedIn }
  | { readonly kind: 'second factor'; readonly mfaId: string };

/** Throws forbidden when the collection has this method switched off. */
export function requireMethod({ auth }: AuthCollection, method: SignInMethod): void {
  const [option, name] = methods[method];
  if (!auth[option].enabled)
    throw new AppError('forbidden', `The collection is not configured to allow ${name} authentication.`);
}

const methods = {
  password: ['passwordAuth', 'password'],
  otp: ['otp', 'OTP'],
  oauth2: ['oauth2', 'OAuth2'],
} as const satisfies Readonly<Record<SignInMethod, readonly [option: string, name: string]>>;

/** Throws forbidden when the collection's rule does not let this account sign in. Superusers pass every rule. */
export async function requireSignInAllowed(
  instance: Instance,
  input: RuleInput,
  { collection, id }: { readonly collection: AuthCollection; readonly id: string },
): Promise<void> {
  const { authRule } = collection.auth;
  if (authRule === '' || input.caller.kind === 'superuser') return;
  if (authRule !== null) {
    const rule = boundRule({ instance, input }, collection, authRule);
    if ((await findAllowed(instance.database, rule, id)) !== undefined) return;
  }
  throw new AppError('forbidden', "The request doesn't satisfy the collection requirements to authenticate.");
}
