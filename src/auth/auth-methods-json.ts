import type { AuthCollection } from './with-auth-collection.ts';

/** Returns how accounts of the collection may sign in. The last three members are for clients of earlier PocketBase versions. */
export function authMethodsJson({ auth }: AuthCollection): string {
  const { passwordAuth, mfa, otp } = auth;
  const identityFields = passwordAuth.enabled ? passwordAuth.identityFields : [];
  return JSON.stringify({
    password: { identityFields, enabled: passwordAuth.enabled },
    oauth2: { providers: [], enabled: false },
    mfa: { enabled: mfa.enabled, duration: mfa.enabled ? mfa.duration : 0 },
    otp: { enabled: otp.enabled, duration: otp.enabled ? otp.duration : 0 },
    authProviders: null,
    usernamePassword: identityFields.includes('username'),
    emailPassword: identityFields.includes('email'),
  });
}
