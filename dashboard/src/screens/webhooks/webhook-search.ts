import { searchDecoder } from '../../parts/search-decoder.ts';
import { decodeDeliveriesSearch, type DeliveriesSearch } from '../../parts/event-search.ts';

/** What the address of the list of endpoints holds. */
export const decodeWebhooksSearch = searchDecoder({
  /** A part of a URL or a description. */
  find: 'text',
  /** The column that it is sorted by, with `-` for the largest first. */
  sort: 'text',
  /** The drawer for another endpoint is open; `catcher` if it is to begin with the built-in catcher, `code` for endpoints as code. */
  create: ['yes', 'catcher', 'code'],
});

export type WebhooksSearch = ReturnType<typeof decodeWebhooksSearch>;

const decodeView = searchDecoder({
  tab: ['overview', 'deliveries', 'test', 'settings'],
  span: ['24h', '7d', '30d'],
  /** The drawer for replays is open; the id of the one that it shows, `new` for a replay or `backfill` to begin one. */
  replay: 'text',
});

type View = ReturnType<typeof decodeView>;
export type EndpointTab = NonNullable<View['tab']>;

/** What the address of one endpoint holds, with the filters of its deliveries. */
export type EndpointSearch = View & Omit<DeliveriesSearch, 'endpoint'>;

export function decodeEndpointSearch(search: Readonly<Record<string, unknown>>): EndpointSearch {
  const { endpoint: _endpoint, ...filters } = decodeDeliveriesSearch(search);
  return { ...filters, ...decodeView(search) };
}
