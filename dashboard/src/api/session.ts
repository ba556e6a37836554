import { useSyncExternalStore } from 'react';
import { call, expired, Failure, orFailure, client } from './client.ts';

/** The collection of those who may use the dashboard. */
const superusers = '_superusers';

/** Somebody signed in. */
export interface Session {
  readonly id: string;
  readonly email: string;
}

/** True as long as a token is there that has not expired by the clock of this machine. */
export function isSignedIn(): boolean {
  return client.authStore.isValid && client.authStore.isSuperuser;
}

let shown: { readonly token: string; readonly session: Session | undefined } = {
  token: '',
  session: undefined,
};

/** The same value as long as the token is the same, as React compares values by identity. */
function currentSession(): Session | undefined {
  const { token, record } = client.authStore;
  if (shown.token === token) return shown.session;
  const email: unknown = record?.['email'];
  const session =
    record === null || token === ''
      ? undefined
      : { id: record.id, email: typeof email === 'string' ? email : '' };
  shown = { token, session };
  return session;
}

export function useSession(): Session | undefined {
  return useSyncExternalStore((onChange) => client.authStore.onChange(onChange), currentSession);
}

export function signOut(): void {
  client.authStore.clear();
}

/** Forgets a token that the service takes no more, and says so once. Returns what stops it. */
export function onExpired(work: () => void): () => void {
  const forget = (): void => {
    if (client.authStore.token === '') return;
    client.authStore.clear();
    work();
  };
  expired.addEventListener('expired', forget);
  return () => expired.removeEventListener('expired', forget);
}

/** Gets a new token for one that is still good, so that who works every day need not sign in again. */
export async function refreshSession(): Promise<void> {
  await orFailure(client.collection(superusers).authRefresh());
}

/** What has to follow a password or a code. */
export type SignInStep =
  | { readonly kind: 'done' }
  | { readonly kind: 'code'; readonly otpId: string; readonly mfaId: string | undefined };

/** Signs in with a password. Where the service wants a second factor, a code is on its way by mail when this resolves. */
export async function signInWithPassword(email: string, password: string): Promise<SignInStep> {
  try {
    await orFailure(client.collection(superusers).authWithPassword(email, password));
    return { kind: 'done' };
  } catch (error) {
    if (!(error instanceof Failure) || error.mfaId === undefined) throw error;
    return { kind: 'code', otpId: await requestCode(email), mfaId: error.mfaId };
  }
}

/** Sends a one-time code by mail. Returns the id that goes with it; the answer is the same for an address that nobody has. */
export async function requestCode(email: string): Promise<string> {
  const { otpId } = await orFailure(client.collection(superusers).requestOTP(email));
  return otpId;
}

export async function signInWithCode(
  { otpId, mfaId }: { readonly otpId: string; readonly mfaId: string | undefined },
  code: string,
): Promise<void> {
  const options = mfaId === undefined ? {} : { mfaId };
  await orFailure(client.collection(superusers).authWithOTP(otpId, code, options));
}

/** True where a superuser may sign in with nothing but a code. */
export async function mayUseCode(): Promise<boolean> {
  const { otp, mfa } = await orFailure(client.collection(superusers).listAuthMethods());
  return otp.enabled && !mfa.enabled;
}

export interface NewSuperuser {
  readonly token: string;
  readonly email: string;
  readonly password: string;
  readonly passwordConfirm: string;
}

/** Makes the first superuser and signs in. */
export async function setUp(account: NewSuperuser): Promise<void> {
  await call('POST /api/setup', { body: account });
  await orFailure(client.collection(superusers).authWithPassword(account.email, account.password));
}
