import type { Clock } from '../base/clock.ts';
import { randomUnit } from '../base/ids.ts';
import type { AttemptResult } from './sending/attempt-result.ts';
import { afterAttempt, standardSchedule } from './delivery.ts';
import type { Flight } from './flight.ts';
import type { Settlement } from './settle.ts';

/** Returns the new state that a result gives its delivery, with what decides whether this process may write it. */
export function toSettlement(
  { pending, endpoint, test, putOffUntil }: Flight,
  result: AttemptResult,
  clock: Clock,
): Settlement {
  const { id, state, kind } = pending;
  // A test is never sent a second time, not even one that an earlier process left behind.
  const schedule = kind === 'ping' ? [] : (endpoint.schedule ?? standardSchedule);
  const context = { now: clock.now(), schedule, random: randomUnit() };
  const after = afterAttempt(state, result, context);
  return { id, after, result, due: state.due, putOffUntil, isFenced: test === undefined };
}
