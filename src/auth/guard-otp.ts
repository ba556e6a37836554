import { AppError } from '../base/errors.ts';
import type { Instance } from '../instances/instance.ts';
import { clientKey } from '../limits/client-key.ts';
import { countGuess } from '../limits/count-guess.ts';
import { countingOf } from '../limits/counting-of.ts';
import { secondsUntil } from '../limits/seconds-until.ts';
import { SharedCounter } from '../limits/shared-counter.ts';
import { otpTagLength } from './new-otp-id.ts';
import type { AuthCollection } from './with-auth-collection.ts';

/** How many wrong codes are accepted before codes are refused; docs/accounts.md repeats these numbers. */
const otpLimits = {
  windowMs: 180_000,
  /** Wrong tries of one code while it is valid. */
  codeMax: 5,
  /** For one account from one client. */
  accountFromClientMax: 5,
  /** For one account from all clients: larger, or any stranger could lock its owner out. */
  accountMax: 25,
} as const;

/** Keys of each counter; about 200 bytes each. */
const keysMax = 50_000;

const codes = new SharedCounter({ kind: 'one-time password', keysMax });
const pairs = new SharedCounter({ kind: 'one-time passwords by a client', keysMax });
const accounts = new SharedCounter({ kind: 'one-time passwords by all', keysMax });

export interface OtpTry {
  readonly collection: AuthCollection;
  readonly otpId: string;
  readonly address: Uint8Array;
}

/** Returns whether a code is right. After too many wrong ones it throws too_many_requests without looking at the code. */
export function guardOtp(
  instance: Instance,
  { collection, otpId, address }: OtpTry,
  verify: () => Promise<boolean>,
): Promise<boolean> {
  const counting = countingOf(instance);
  // Not by the account's id: then the sixth wrong code would tell whether there is an account. The tag stands for the address.
  const account = `${instance.id}|${collection.id}|${otpId.slice(0, otpTagLength)}`;
  const { windowMs: durationMs, codeMax, accountFromClientMax, accountMax } = otpLimits;
  const lifeMs = collection.auth.otp.duration * 1_000;
  const counts = [
    { counter: accounts, key: account, limit: { max: accountMax, durationMs, ...counting } },
    {
      counter: pairs,
      key: `${account}|${clientKey(address)}`,
      limit: { max: accountFromClientMax, durationMs, ...counting },
    },
    { counter: codes, key: `${account}|${otpId}`, limit: { max: codeMax, durationMs: lifeMs, ...counting } },
  ];
  const refusal = (endMs: number): AppError => {
    const message = 'Too many attempts, please try again later with a new OTP.';
    return new AppError('too_many_requests', message, { retryAfter: secondsUntil(endMs, counting.nowMs) });
  };
  return countGuess({ counts, verify, refusal });
}
