import { type Span, spans } from '../../api/endpoints.ts';
import type { Schemas } from '../../api/schema.ts';
import { deliveryStatuses, eventKinds } from '../../parts/delivery-words.ts';

/** What the address of the list of endpoints holds. */
export interface WebhooksSearch {
  /** A part of a URL or a description. */
  readonly find?: string;
  /** The drawer for another endpoint is open; `catcher` if it is to begin with the built-in catcher, `code` for endpoints as code. */
  readonly create?: 'yes' | 'catcher' | 'code';
}

export function decodeWebhooksSearch({ find, create }: Readonly<Record<string, unknown>>): WebhooksSearch {
  return {
    ...(isText(find) && { find }),
    ...((create === 'yes' || create === 'catcher' || create === 'code') && { create }),
  };
}

export const endpointTabs = ['overview', 'deliveries', 'test', 'settings'] as const;
export type EndpointTab = (typeof endpointTabs)[number];

/** What the address of one endpoint holds. */
export interface EndpointSearch {
  readonly tab?: EndpointTab;
  readonly span?: Span;
  readonly status?: Schemas['Delivery']['status'];
  readonly kind?: Schemas['Delivery']['kind'];
  /** The name of a collection. */
  readonly collection?: string;
  /** The id of a record. */
  readonly record?: string;
  readonly cause?: string;
  /** The drawer for replays is open; the id of the one that it shows, `new` for a replay or `backfill` to begin one. */
  readonly replay?: string;
}

export function decodeEndpointSearch(search: Readonly<Record<string, unknown>>): EndpointSearch {
  const { collection, record, cause, replay } = search;
  const tab = endpointTabs.find((one) => one === search['tab']);
  const span = spans.find((one) => one === search['span']);
  const status = deliveryStatuses.find((one) => one === search['status']);
  const kind = eventKinds.find((one) => one === search['kind']);
  return {
    ...(tab !== undefined && { tab }),
    ...(span !== undefined && { span }),
    ...(status !== undefined && { status }),
    ...(kind !== undefined && { kind }),
    ...(isText(collection) && { collection }),
    ...(isText(record) && { record }),
    ...(isText(cause) && { cause }),
    ...(isText(replay) && { replay }),
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
