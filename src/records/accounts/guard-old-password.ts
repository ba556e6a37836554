import type { Instance } from '../../instances/instance.ts';
import { countGuess } from '../../limits/count-guess.ts';
import { countingOf } from '../../limits/counting-of.ts';
import { tooManyRequests } from '../../limits/rate-limiter.ts';
import { secondsUntil } from '../../limits/seconds-until.ts';
import { SharedCounter } from '../../limits/shared-counter.ts';
import type { Caller } from '../../rules/caller.ts';

/** How many wrong old passwords one caller may send for one account; docs/rules.md repeats these numbers. */
const oldPasswordLimits = { windowMs: 5 * 60_000, wrongMax: 20 } as const;

/** About 200 bytes each. */
const keysMax = 50_000;

const wrong = new SharedCounter({ kind: 'old password', keysMax });

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
export function guardOldPassword(
  instance: Instance,
  { caller, collection, id }: OldPasswordTry,
  verify: () => Promise<boolean>,
): Promise<boolean> {
  const who = caller.kind === 'guest' ? caller.kind : `${caller.kind} ${caller.id}`;
  const key = `${instance.id}|${who}|${collection}|${id}`;
  const { wrongMax: max, windowMs: durationMs } = oldPasswordLimits;
  const counting = countingOf(instance);
  return countGuess({
    counts: [{ counter: wrong, key, limit: { max, durationMs, ...counting } }],
    verify,
    refusal: (endMs) => tooManyRequests(secondsUntil(endMs, counting.nowMs)),
  });
}
