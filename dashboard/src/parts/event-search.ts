import { everything, type Delivery, type Event, type LogSelection } from '../api/events.ts';
import { deliveryStatuses, eventKinds } from './delivery-words.ts';

/** What the address of a list of events or deliveries holds. */
export interface EventSearch {
  /** A part of a body. */
  readonly find?: string;
  readonly collection?: string;
  readonly kind?: Event['kind'];
  /** The id of a record. */
  readonly record?: string;
  /** `1h`, `24h`, `7d`, or a date. */
  readonly from?: string;
  readonly until?: string;
  readonly sort?: 'created';
}

export interface DeliveriesSearch extends EventSearch {
  readonly status?: Delivery['status'];
  /** The id of an endpoint. */
  readonly endpoint?: string;
  readonly cause?: string;
}

/** Times that one means more often than dates, in hours. */
export const spans = { '1h': 1, '24h': 24, '7d': 168 } as const;

export function decodeEventSearch(search: Readonly<Record<string, unknown>>): EventSearch {
  const kind = eventKinds.find((one) => one === search['kind']);
  return {
    ...textsOf(search, ['find', 'collection', 'record', 'from', 'until']),
    ...(kind !== undefined && { kind }),
    ...(search['sort'] === 'created' && { sort: 'created' }),
  };
}

export function decodeDeliveriesSearch(search: Readonly<Record<string, unknown>>): DeliveriesSearch {
  const status = deliveryStatuses.find((one) => one === search['status']);
  return {
    ...decodeEventSearch(search),
    ...(status !== undefined && { status }),
    ...textsOf(search, ['endpoint', 'cause']),
  };
}

function textsOf<Name extends string>(
  search: Readonly<Record<string, unknown>>,
  names: readonly Name[],
): { readonly [name in Name]?: string } {
  const texts = names.flatMap((name) => {
    const value = search[name];
    return typeof value === 'string' && value !== '' ? [[name, value] as const] : [];
  });
  // Only with these names.
  return Object.fromEntries(texts) as { readonly [name in Name]?: string };
}

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
