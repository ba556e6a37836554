import { call, client, Failure, orFailure } from './client.ts';
import type { Operations } from './schema.ts';
import { currentSession, isPortal, saveKey, savePortal, superusers } from './session.ts';

/*
 * The ways to sign in. They are apart from the session, which every screen needs: who has signed in loads none of them.
 */

/** Signs in with an API key. Throws Failure for one that is not valid. */
export async function signInWithKey(text: string): Promise<void> {
  const key = text.trim();
  if (!/^ck_\w+$/.test(key)) throw new Error('Not an API key: they start with ck_.');
  await saveKey(key);
}

/** Signs in with a portal link. One that this browser has opened before leads to its session again. Throws Failure. */
export async function openPortal(link: string): Promise<void> {
  try {
    const { token } = await call('POST /api/webhooks/portal-links/use', { body: { token: link } });
    await savePortal(token);
  } catch (error) {
    if (!isPortal() || !link.startsWith(currentSession()?.id ?? ' ')) throw error;
  }
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

/** Signs in with the token of a link that the operator has issued. */
export async function signInWithLink(token: string): Promise<void> {
  const { record, token: session } = await call('POST /api/sign-in-links/use', { body: { token } });
  client.authStore.save(session, record);
}

/** Makes the first superuser and signs in. */
export async function setUp(account: Operations['POST /api/setup']['body']): Promise<void> {
  await call('POST /api/setup', { body: account });
  await orFailure(client.collection(superusers).authWithPassword(account.email, account.password));
}
