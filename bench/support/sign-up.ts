import type { Service } from './service.ts';

export interface SignedUp {
  readonly id: string;
  readonly email: string;
  readonly token: string;
}

/** The password of all of them. */
export const userPassword = 'a password of a user';

/** Makes an account in `users` and signs it in. */
export async function signUp(
  service: Service,
  values: Readonly<Record<string, unknown>> = {},
): Promise<SignedUp> {
  const email = `asker${Date.now()}@example.com`;
  const { id } = await service.api('/api/collections/users/records', {
    email,
    password: userPassword,
    passwordConfirm: userPassword,
    ...values,
  });
  const { token } = await service.api('/api/collections/users/auth-with-password', {
    identity: email,
    password: userPassword,
  });
  return { id: String(id), email, token: String(token) };
}
