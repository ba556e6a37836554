import { type Span, spans } from '../../api/endpoints.ts';
import { decodeDeliveriesSearch, type DeliveriesSearch } from '../../parts/event-search.ts';

/** What the address of the list of endpoints holds. */
export interface WebhooksSearch {
  /** A part of a URL or a description. */
  readonly find?: string;
  /** The column that it is sorted by, with `-` for the largest first. */
  readonly sort?: string;
  /** The drawer for another endpoint is open; `catcher` if it is to begin with the built-in catcher, `code` for endpoints as code. */
  readonly create?: 'yes' | 'catcher' | 'code';
}

export function decodeWebhooksSearch({
  find,
  sort,
  create,
}: Readonly<Record<string, unknown>>): WebhooksSearch {
  return {
    ...(isText(find) && { find }),
    ...(isText(sort) && { sort }),
    ...((create === 'yes' || create === 'catcher' || create === 'code') && { create }),
  };
}

export const endpointTabs = ['overview', 'deliveries', 'test', 'settings'] as const;
export type EndpointTab = (typeof endpointTabs)[number];

/** What the address of one endpoint holds, with the filters of its deliveries. */
export interface EndpointSearch extends Omit<DeliveriesSearch, 'endpoint'> {
  readonly tab?: EndpointTab;
  readonly span?: Span;
  /** The drawer for replays is open; the id of the one that it shows, `new` for a replay or `backfill` to begin one. */
  readonly replay?: string;
}

export function decodeEndpointSearch(search: Readonly<Record<string, unknown>>): EndpointSearch {
  const { replay } = search;
  const tab = endpointTabs.find((one) => one === search['tab']);
  const span = spans.find((one) => one === search['span']);
  const { endpoint: _endpoint, ...filters } = decodeDeliveriesSearch(search);
  return {
    ...filters,
    ...(tab !== undefined && { tab }),
    ...(span !== undefined && { span }),
    ...(isText(replay) && { replay }),
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
