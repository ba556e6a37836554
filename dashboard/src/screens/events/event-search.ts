import type { Event, EventSelection } from '../../api/events.ts';
import { eventKinds } from '../../parts/delivery-words.ts';

/** What the address of the log of events holds. */
export interface EventSearch {
  readonly collection?: string;
  readonly kind?: Event['kind'];
  /** The id of a record. */
  readonly record?: string;
  /** `1h`, `24h`, `7d`, or a date. */
  readonly from?: string;
  readonly until?: string;
}

/** Times that one means more often than dates, in hours. */
export const spans = { '1h': 1, '24h': 24, '7d': 168 } as const;

export function decodeEventSearch(search: Readonly<Record<string, unknown>>): EventSearch {
  const { collection, record, from, until } = search;
  const kind = eventKinds.find((one) => one === search['kind']);
  return {
    ...(isText(collection) && { collection }),
    ...(kind !== undefined && { kind }),
    ...(isText(record) && { record }),
    ...(isText(from) && { from }),
    ...(isText(until) && { until }),
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

export function isSpan(text: string): text is keyof typeof spans {
  return text in spans;
}

const hourMs = 3_600_000;

/** What the address selects at this moment. */
export function toSelection(search: EventSearch): EventSelection {
  const { collection = '', kind = '', record = '', from = '', until = '' } = search;
  const begin = isSpan(from) ? new Date(Date.now() - spans[from] * hourMs) : new Date(from);
  return { collection, kind, record, from: toDate(begin), until: toDate(new Date(until)) };
}

/** A date as the API writes it; empty for what is none. */
function toDate(date: Date): string {
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().replace('T', ' ');
}
