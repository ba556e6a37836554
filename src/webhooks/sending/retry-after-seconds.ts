const retryAfterSecondsMax = 3_600;

const wholeSeconds = /^\d+$/;
/** All date forms of RFC 9110 begin with the day of the week; `Date.parse` alone would read `-5` as a year. */
const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;
/** The oldest form (asctime) names no zone and means GMT; `Date.parse` would use the machine's zone. */
const withoutZone = /^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;

/** Returns the seconds that a `Retry-After` header asks to wait, at most an hour; null when it is absent or cannot be read. */
export function retryAfterSeconds(header: string | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  // The number of digits does not matter: a number too large to be exact is also more than an hour.
  if (wholeSeconds.test(text)) return Math.min(Number(text), retryAfterSecondsMax);
  if (!httpDate.test(text)) return null;
  const at = Date.parse(withoutZone.test(text) ? `${text} GMT` : text);
  if (Number.isNaN(at)) return null;
  return Math.min(Math.max(0, Math.ceil((at - nowMs) / 1_000)), retryAfterSecondsMax);
}
