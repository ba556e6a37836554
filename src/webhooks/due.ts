/**
 * When deliveries are due, in milliseconds since 1970. Of one whose attempt is still on its way while another node takes over,
 * the row is all that the others know, and by nothing but this time could they tell it from one that waits for its schedule.
 * Two milliseconds of each second are therefore kept for it, for whether somebody has meanwhile asked by hand for another attempt.
 */
const secondMs = 1_000;
const onItsWayMs = 998;
const askedAgainMs = 999;
/** An attempt must be over before, however long its endpoint lets it take: what is due later waits for something else. */
const putOffMsMax = 60_000;

/** When a delivery that is on its way until then is due, should nobody settle it. */
export function putOffDue(untilMs: number): number {
  return Math.ceil((untilMs - onItsWayMs) / secondMs) * secondMs + onItsWayMs;
}

/** The same, when somebody has asked for another attempt. */
export function askedAgainDue(putOff: number): number {
  return Math.floor(putOff / secondMs) * secondMs + askedAgainMs;
}

export function isOnItsWay(due: number, nowMs: number): boolean {
  return due % secondMs >= onItsWayMs && due > nowMs && due <= nowMs + putOffMsMax;
}

/** Then or a moment later, and none of the times above. */
export function scheduledDue(ms: number): number {
  const due = Math.ceil(ms);
  return due % secondMs >= onItsWayMs ? Math.ceil((due + 1) / secondMs) * secondMs : due;
}
