import { everything, type LogSelection } from '../api/events.ts';
import { searchDecoder } from './search-decoder.ts';
import { deliveryStatuses, eventKinds } from './delivery-words.ts';

const eventMembers = {
  /** A part of a body. */
  find: 'text',
  collection: 'text',
  kind: eventKinds,
  /** The id of a record. */
  record: 'text',
  /** `1h`, `24h`, `7d`, or a date. */
  from: 'text',
  until: 'text',
  sort: ['created'],
} as const;

/** What the address of a list of events holds. */
export const decodeEventSearch = searchDecoder(eventMembers);
export type EventSearch = ReturnType<typeof decodeEventSearch>;

/** What that of a list of deliveries holds. */
export const decodeDeliveriesSearch = searchDecoder({
  ...eventMembers,
  status: deliveryStatuses,
  /** The id of an endpoint. */
  endpoint: 'text',
  cause: 'text',
});
export type DeliveriesSearch = ReturnType<typeof decodeDeliveriesSearch>;

/** Times that one means more often than dates, in hours. */
const spans = { '1h': 1, '24h': 24, '7d': 168 } as const;

export function isSpan(text: string): text is keyof typeof spans {
  return text in spans;
}

const hourMs = 3_600_000;

/** What the address selects at this moment. */
export function toSelection({ from = '', until = '', ...search }: DeliveriesSearch): LogSelection {
  const begin = isSpan(from) ? new Date(Date.now() - spans[from] * hourMs) : new Date(from);
  return { ...everything, ...search, from: toDate(begin), until: toDate(new Date(until)) };
}

/** A date as the API writes it; empty for what is none. */
function toDate(date: Date): string {
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().replace('T', ' ');
}
