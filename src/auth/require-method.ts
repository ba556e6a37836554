import { AppError } from '../base/errors.ts';
import type { SignInMethod } from './second-factor.ts';
import type { AuthCollection } from './with-auth-collection.ts';

/** Throws forbidden when the collection has this method switched off. */
export function requireMethod({ auth }: AuthCollection, method: SignInMethod): void {
  const [{ enabled }, name] =
    method === 'password' ? ([auth.passwordAuth, 'password'] as const) : ([auth.otp, 'OTP'] as const);
  if (!enabled)
    throw new AppError('forbidden', `The collection is not configured to allow ${name} authentication.`);
}
