import type { Clock } from '../base/clock.ts';
import { randomUnit } from '../base/ids.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { AttemptResult } from './sending/attempt-result.ts';
import { isMovedFrom, isPutOffUntil, type Settlement } from './deliveries.ts';
import { afterAttempt, standardSchedule } from './delivery.ts';
import type { Flight } from './flight.ts';
import { soleOwnership, type Ownership } from './ownership.ts';

/** Returns the new state that a result gives its delivery, with the condition under which this process may write it. */
export function toSettlement(
  flight: Flight,
  result: AttemptResult,
  { ownership, clock }: { readonly ownership: Ownership; readonly clock: Clock },
): Settlement {
  const { id, state, kind } = flight.pending;
  // A test is never sent a second time, not even one that an earlier process left behind.
  const schedule = kind === 'ping' ? [] : (flight.endpoint.schedule ?? standardSchedule);
  const context = { now: clock.now(), schedule, random: randomUnit() };
  const dues = flight.putOffUntil === undefined ? [state.due] : [state.due, flight.putOffUntil];
  return {
    id,
    after: afterAttempt(state, result, context),
    result,
    fence: fenceOf(flight, ownership),
    isAskedAgain: isMovedFrom(dues),
  };
}

function fenceOf({ lanes, test, putOffUntil }: Flight, ownership: Ownership): Sql {
  const fence = (test === undefined ? ownership : soleOwnership).fence(lanes.instance.id);
  return putOffUntil === undefined ? fence : sql`(${fence} OR ${isPutOffUntil(putOffUntil)})`;
}
