import type { Instance } from '../instances/instance.ts';
import { tooManyRequests } from '../limits/rate-limiter.ts';
import { secondsUntil } from '../limits/seconds-until.ts';
import { WindowCounter } from '../limits/window-counter.ts';
import type { Caller } from '../rules/caller.ts';

/** How many wrong old passwords one caller may send for one account; docs/rules.md repeats these numbers. */
const oldPasswordLimits = { windowMs: 5 * 60_000, wrongMax: 20 } as const;

/** About 200 bytes each. */
const keysMax = 50_000;

const wrong = new WindowCounter(keysMax);

export interface OldPasswordTry {
  readonly caller: Caller;
  readonly collection: string;
  readonly id: string;
}

/**
 * Whether an old password is right, unless the caller was wrong too often: whoever has found an open session must not find out its
 * password as well, which no sign-in would tell them. Counted by who asks, so that strangers do not keep an owner from changing
 * it. Throws too_many_requests.
 */
export async function guardOldPassword(
  { id: instanceId, clock }: Instance,
  { caller, collection, id }: OldPasswordTry,
  verify: () => Promise<boolean>,
): Promise<boolean> {
  const nowMs = clock.now();
  const who = caller.kind === 'guest' ? caller.kind : `${caller.kind} ${caller.id}`;
  const key = `${instanceId}|${who}|${collection}|${id}`;
  const limit = { max: oldPasswordLimits.wrongMax, durationMs: oldPasswordLimits.windowMs, nowMs };
  // Counted before it is known: those that are tried at once would otherwise all be one too many.
  const window = wrong.take(key, limit);
  if (!window.isAllowed) throw tooManyRequests(secondsUntil(window.endMs, nowMs));
  let isWrong = false;
  try {
    isWrong = !(await verify());
    return !isWrong;
  } finally {
    // One that could not be looked at was no guess.
    if (!isWrong) wrong.giveBack(key, nowMs);
  }
}
