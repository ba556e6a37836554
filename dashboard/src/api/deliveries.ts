import { infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query';
import { call, client } from './client.ts';
import { conditionOf, type Event, type LogSelection } from './events.ts';
import { isBoundToEndpoints, mayUse } from './session.ts';

const waitingMs = 1_500;
const restMs = 20_000;

/** A delivery with all of its attempts and what was answered to them. Looked at more often while it waits for one. */
export function deliveryQuery(id: string) {
  return queryOptions({
    queryKey: ['deliveries', 'view', id],
    queryFn: async ({ signal }) => call('GET /api/webhooks/deliveries/{id}', { path: { id }, signal }),
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? waitingMs : restMs),
  });
}

const pageSize = 60;
const refreshMs = 5_000;
/** Who has scrolled far reads, and does not wait for what is new. */
const pagesWatched = 2;

/** Deliveries page by page. Each page begins where the one before ended, whatever is added meanwhile. */
export function deliveriesQuery(selection: LogSelection) {
  return infiniteQueryOptions({
    queryKey: ['deliveries', 'list', selection],
    queryFn: async ({ pageParam, signal }) => {
      const filter = conditionOf(selection);
      const query = {
        cursor: pageParam,
        perPage: pageSize,
        sort: selection.sort,
        ...(filter !== '' && { filter }),
      };
      const page = await call('GET /api/webhooks/deliveries', { query, signal });
      return { items: page.items, nextCursor: 'nextCursor' in page ? page.nextCursor : null };
    },
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
    // A search of all bodies is not repeated by itself.
    refetchInterval: ({ state }) =>
      selection.find !== '' || (state.data !== undefined && state.data.pages.length > pagesWatched)
        ? false
        : refreshMs,
  });
}

/** Makes deliveries due now, one after the other. Those that are over are sent once more, under the same `webhook-id`. */
export async function sendAgain(queries: QueryClient, ids: readonly string[]): Promise<void> {
  try {
    for (const id of ids) await call('POST /api/webhooks/deliveries/{id}/retry', { path: { id } });
  } finally {
    await refreshDeliveries(queries);
  }
}

/** Ends a delivery that waits. */
export async function cancelDelivery(queries: QueryClient, id: string): Promise<void> {
  try {
    await call('POST /api/webhooks/deliveries/{id}/cancel', { path: { id } });
  } finally {
    await refreshDeliveries(queries);
  }
}

async function refreshDeliveries(queries: QueryClient): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: ['deliveries'] }),
    queries.invalidateQueries({
      queryKey: ['events'],
      // The body of an event never changes.
      predicate: ({ queryKey }) => queryKey[1] !== 'body',
    }),
  ]);
}

/** A request as an endpoint would get it now: its signatures are good for the time at which it was fetched. */
export interface SignedRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const pagesMax = 5;
const feedPageSize = 200;

/** Whether the feed may tell an event of this kind: not of what one endpoint alone is told. */
export function isInFeed(kind: string): boolean {
  return kind.startsWith('record.');
}

/**
 * The request of a delivery with fresh signatures and the exact bytes of its body. The feed has it: it begins at the time of the event, with
 * those of the same record. Null where the feed does not tell it: a ping, a backfill, a collection that is gone, a log without a feed.
 */
export function signedRequestQuery(event: Event, endpoint: string) {
  return queryOptions({
    queryKey: ['deliveries', 'request', event.id, endpoint],
    queryFn: async ({ signal }): Promise<SignedRequest | null> => {
      const { kind, collection, record, created } = event;
      const query = {
        events: kind,
        collections: collection,
        filter: client.filter('id = {:record}', { record }),
        signed: endpoint,
        perPage: feedPageSize,
      };
      let cursor = '';
      for (let page = 0; page < pagesMax; page += 1) {
        const place = cursor === '' ? { since: created } : { cursor };
        const answer = await call('GET /api/webhooks/feed', { query: { ...query, ...place }, signal });
        const item = answer.items.find(({ id }) => id === event.id);
        if (item?.headers !== undefined && item.body !== undefined)
          return { headers: item.headers, body: item.body };
        cursor = answer.nextCursor;
      }
      return null;
    },
    enabled: isInFeed(event.kind) && maySign(),
    staleTime: 60_000,
    // It holds what the endpoint is authorised by: nothing that stays when nobody looks at it.
    gcTime: 0,
    retry: false,
  });
}

/** Whether the feed gives who is signed in the requests of endpoints: whoever may see their secrets, but no key for some of them. */
export function maySign(): boolean {
  return mayUse('webhooks:write') && !isBoundToEndpoints();
}

/** The signing secret of an endpoint. Fetched when somebody wants it, and kept nowhere. */
export async function fetchSecret(endpoint: string): Promise<string> {
  const { secret } = await call('GET /api/webhooks/endpoints/{id}/secret', { path: { id: endpoint } });
  return secret;
}
