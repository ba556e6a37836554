const retryAfterSecondsMax = 3_600;

const wholeSeconds = /^\d+$/;
/** The three forms of RFC 9110 begin with the day of the week; `Date.parse` alone would take `-5` for a year. */
const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;
/** The oldest of them names no zone and means GMT; `Date.parse` would take the machine's. */
const withoutZone = /^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;

/** Seconds to wait as a `Retry-After` header asks, at most an hour; null when it is absent or cannot be read. */
export function retryAfterSeconds(header: string | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  // However many digits there are: more than a number holds ask for more than an hour, too.
  if (wholeSeconds.test(text)) return Math.min(Number(text), retryAfterSecondsMax);
  if (!httpDate.test(text)) return null;
  const at = Date.parse(withoutZone.test(text) ? `${text} GMT` : text);
  if (Number.isNaN(at)) return null;
  return Math.min(Math.max(0, Math.ceil((at - nowMs) / 1_000)), retryAfterSecondsMax);
}
