import { tooManyRequests } from '../../base/errors.ts';
import type { Instance } from '../../instances/instance.ts';
import { countGuess } from '../../limits/count-guess.ts';
import { countingOf } from '../../limits/counting-of.ts';
import { secondsUntil } from '../../limits/seconds-until.ts';
import { SharedCounter } from '../../limits/shared-counter.ts';
import type { Caller } from '../../rules/caller.ts';

/** How many wrong old passwords one caller may send for one account; docs/rules.md repeats these numbers. */
const oldPasswordLimits = { windowMs: 5 * 60_000, wrongMax: 20 } as const;

/** Each key takes about 200 bytes. */
const keysMax = 50_000;

const wrong = new SharedCounter({ kind: 'old password', keysMax });

export interface OldPasswordTry {
  readonly caller: Caller;
  readonly collection: string;
  readonly id: string;
}

/**
 * Resolves whether an old password is right. Throws too_many_requests when the caller was wrong too often: otherwise whoever has
 * found an open session could guess its password here, which no sign-in would allow. Counted per caller, so that strangers cannot
 * keep an owner from changing it.
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
