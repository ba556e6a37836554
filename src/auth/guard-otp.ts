import { AppError } from '../base/errors.ts';
import type { Instance } from '../instances/instance.ts';
import { clientKey } from '../limits/client-key.ts';
import { countGuess } from '../limits/count-guess.ts';
import { countingOf } from '../limits/counting-of.ts';
import { secondsUntil } from '../limits/seconds-until.ts';
import { SharedCounter } from '../limits/shared-counter.ts';
import { otpTagLength } from './new-otp-id.ts';
import type { AuthCollection } from './with-auth-collection.ts';

/** How many wrong codes are taken; docs/accounts.md repeats these numbers. */
const otpLimits = {
  windowMs: 180_000,
  /** Of one code, for as long as it is good. */
  codeMax: 5,
  /** For one account from one client. */
  accountFromClientMax: 5,
  /** For one account from all clients: more, or any stranger could keep its owner out. */
  accountMax: 25,
} as const;

/** Of each kind; about 200 bytes each. */
const keysMax = 50_000;

const codes = new SharedCounter({ kind: 'one-time password', keysMax });
const pairs = new SharedCounter({ kind: 'one-time passwords by a client', keysMax });
const accounts = new SharedCounter({ kind: 'one-time passwords by all', keysMax });

export interface OtpTry {
  readonly collection: AuthCollection;
  readonly otpId: string;
  readonly address: Uint8Array;
}

/** Whether a code is right, unless too many were wrong before: the right one is not looked at then. Throws too_many_requests. */
export function guardOtp(
  instance: Instance,
  { collection, otpId, address }: OtpTry,
  verify: () => Promise<boolean>,
): Promise<boolean> {
  const counting = countingOf(instance);
  // Not the account itself: then the sixth wrong code would tell whether there is one.
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
