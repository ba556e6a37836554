import { AppError } from '../base/errors.ts';
import type { Instance } from '../instances/instance.ts';
import { clientKey } from '../limits/client-key.ts';
import { secondsUntil } from '../limits/seconds-until.ts';
import { WindowCounter } from '../limits/window-counter.ts';
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

const codes = new WindowCounter(keysMax);
const pairs = new WindowCounter(keysMax);
const accounts = new WindowCounter(keysMax);

export interface OtpTry {
  readonly collection: AuthCollection;
  readonly otpId: string;
  readonly address: Uint8Array;
}

/** Whether a code is right, unless too many were wrong before: the right one is not looked at then. Throws too_many_requests. */
export async function guardOtp(
  { id: instanceId, clock }: Instance,
  { collection, otpId, address }: OtpTry,
  verify: () => Promise<boolean>,
): Promise<boolean> {
  const nowMs = clock.now();
  // Not the account itself: then the sixth wrong code would tell whether there is one.
  const account = `${instanceId}|${collection.id}|${otpId.slice(0, otpTagLength)}`;
  const { windowMs: durationMs, codeMax, accountFromClientMax, accountMax } = otpLimits;
  const lifeMs = collection.auth.otp.duration * 1_000;
  const counts = [
    { counter: codes, key: `${account}|${otpId}`, limit: { max: codeMax, durationMs: lifeMs, nowMs } },
    {
      counter: pairs,
      key: `${account}|${clientKey(address)}`,
      limit: { max: accountFromClientMax, durationMs, nowMs },
    },
    { counter: accounts, key: account, limit: { max: accountMax, durationMs, nowMs } },
  ];
  const full = counts
    .map(({ counter, key, limit }) => counter.look(key, limit))
    .filter((window) => !window.isAllowed);
  if (full.length > 0) {
    const message = 'Too many attempts, please try again later with a new OTP.';
    const endMs = Math.max(...full.map((window) => window.endMs));
    throw new AppError('too_many_requests', message, { retryAfter: secondsUntil(endMs, nowMs) });
  }
  // Counted before it is known: those that are tried at once would otherwise all be one too many.
  for (const { counter, key, limit } of counts) counter.take(key, limit);
  let isWrong = false;
  try {
    isWrong = !(await verify());
    return !isWrong;
  } finally {
    // One that could not be looked at was no guess.
    if (!isWrong) for (const { counter, key } of counts) counter.giveBack(key, nowMs);
  }
}
