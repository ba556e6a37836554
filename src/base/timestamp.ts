/**
 * Points in time as text. The record API writes `2026-11-20 09:35:20.114Z` (so that text order is time order), webhooks
 * write the ISO 8601 form with a `T`. Both are UTC with milliseconds.
 */
export type Timestamp = string;

/** The last timestamp made: the works of one commit fall into the same few milliseconds, and each writes several. */
let last = { epochMs: Number.NaN, text: '' };

/** `2026-11-20 09:35:20.114Z` from milliseconds since 1970. */
export function toTimestamp(epochMs: number): Timestamp {
  if (epochMs !== last.epochMs) last = { epochMs, text: new Date(epochMs).toISOString().replace('T', ' ') };
  return last.text;
}

/** `2026-11-20T09:35:20.114Z` from the record API's form. */
export function toIsoTimestamp(timestamp: Timestamp): string {
  return timestamp.replace(' ', 'T');
}

/** Milliseconds since 1970 of a timestamp written by {@link toTimestamp}. */
export function fromTimestamp(timestamp: Timestamp): number {
  return timestamp === last.text ? last.epochMs : Date.parse(toIsoTimestamp(timestamp));
}
