const retryAfterSecondsMax = 3_600;

const wholeSeconds = /^\d{1,15}$/;
/** The three forms of RFC 9110 begin with the day of the week; `Date.parse` alone would take `-5` for a year. */
const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

/** Seconds to wait as a `Retry-After` header asks, at most an hour; null when it is absent or cannot be read. */
export function retryAfterSeconds(header: string | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (wholeSeconds.test(text)) return Math.min(Number(text), retryAfterSecondsMax);
  const at = httpDate.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) return null;
  return Math.min(Math.max(0, Math.ceil((at - nowMs) / 1_000)), retryAfterSecondsMax);
}
