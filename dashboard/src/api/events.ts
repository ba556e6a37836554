import { infiniteQueryOptions, queryOptions, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { call, type Collection, client } from './client.ts';
import { endpointsQuery } from './last-day.ts';
import type { Schemas } from './schema.ts';
import { isBoundToEndpoints } from './session.ts';

export type Event = Schemas['Event'];
export type Delivery = Schemas['Delivery'];
export type Attempt = Schemas['Attempt'];
export type Endpoint = Schemas['Endpoint'];
export type Lane = Schemas['ListedEndpointStats']['lane'];

/** What of the log is shown, of events or of deliveries; an empty text is no condition. */
export interface LogSelection {
  /** A part of a body. */
  readonly find: string;
  /** The name of a collection. */
  readonly collection: string;
  /** `record.create`, … */
  readonly kind: string;
  /** The id of a record. */
  readonly record: string;
  /** Dates as the API writes them. */
  readonly from: string;
  readonly until: string;
  /** Of deliveries alone, as are those below. */
  readonly status: string;
  /** The id of an endpoint. */
  readonly endpoint: string;
  readonly cause: string;
  /** `created`, or `-created` for the latest first. */
  readonly sort: string;
}

export const everything: LogSelection = {
  find: '',
  collection: '',
  kind: '',
  record: '',
  from: '',
  until: '',
  status: '',
  endpoint: '',
  cause: '',
  sort: '-created',
};

const pageSize = 60;
const waitingMs = 2_500;
const restMs = 20_000;

/** The condition of a selection; empty for none. */
export function conditionOf({ find, from, until, sort: _sort, ...equal }: LogSelection): string {
  // The text of a body is JSON, which escapes what is in it.
  const text = JSON.stringify(find).slice(1, -1);
  // A key for some endpoints reads parts of bodies, and may search none.
  const named = isBoundToEndpoints() ? 'record' : 'body';
  const conditions = [
    ...Object.entries(equal).map(
      ([name, value]) => value !== '' && client.filter(`${name} = {:value}`, { value }),
    ),
    from !== '' && client.filter('created >= {:from}', { from }),
    until !== '' && client.filter('created <= {:until}', { until }),
    // Last, as it takes longest.
    find !== '' && client.filter(`${named} ~ {:text}`, { text }),
  ];
  return conditions.filter((condition) => condition !== false).join(' && ');
}

/** The log of events page by page, the newest first. Each page begins where the one before ended, whatever is added meanwhile. */
export function eventsQuery(selection: LogSelection) {
  return infiniteQueryOptions({
    queryKey: ['events', 'list', selection],
    queryFn: async ({ pageParam, signal }) => {
      const { collection, record, sort } = selection;
      // A record with its collection has its own parameter, which an index serves; a record alone is a condition like others.
      const isStory = collection !== '' && record !== '';
      const filter = conditionOf(isStory ? { ...selection, collection: '', record: '' } : selection);
      const query = {
        cursor: pageParam,
        perPage: pageSize,
        sort,
        ...(isStory && { record: `${collection}/${record}` }),
        ...(filter !== '' && { filter }),
      };
      const page = await call('GET /api/webhooks/events', { query, signal });
      return { items: page.items, nextCursor: 'nextCursor' in page ? page.nextCursor : null };
    },
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

/** What happened to a record, the last first, and who was told. Looked at again while something is on its way. */
export function storyQuery(collection: Collection, record: string) {
  return infiniteQueryOptions({
    ...eventsQuery({ ...everything, collection: collection.id, record }),
    queryKey: ['events', 'story', collection.id, record],
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ items }) => items.some(hasPending)) === true ? waitingMs : restMs,
  });
}

/** One event with its deliveries and the body that receivers get. */
export function eventQuery(id: string) {
  return queryOptions({
    queryKey: ['events', 'view', id],
    queryFn: async ({ signal }) => call('GET /api/webhooks/events/{id}', { path: { id }, signal }),
    refetchInterval: ({ state }) => (state.data !== undefined && hasPending(state.data) ? waitingMs : restMs),
  });
}

/** What the record was after an event. It never changes, so it is fetched once. */
export function eventBodyQuery(id: string) {
  return queryOptions({
    queryKey: ['events', 'body', id],
    queryFn: async ({ signal }) => {
      const query = { fields: 'body' };
      const { body } = await call('GET /api/webhooks/events/{id}', { path: { id }, query, signal });
      return dataOf(body ?? {});
    },
    enabled: id !== '',
    staleTime: Number.POSITIVE_INFINITY,
  });
}

function dataOf({ data }: { readonly [name: string]: unknown }): Readonly<Record<string, unknown>> {
  return typeof data === 'object' && data !== null ? { ...data } : {};
}

function hasPending({ deliveries }: Pick<Event, 'deliveries'>): boolean {
  return deliveries.some(({ status }) => status === 'pending');
}

/** Where deliveries go, and how these places are at present. Undefined as long as that is not there. */
export interface Surroundings {
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  /** By the ids of their endpoints: why something waits although it is due. */
  readonly lanes: ReadonlyMap<string, Lane>;
}

export function useSurroundings(): Surroundings | undefined {
  const { data: endpoints } = useQuery(endpointsQuery);
  return useMemo(() => {
    if (endpoints === undefined) return undefined;
    return {
      endpoints: new Map(endpoints.map((endpoint) => [endpoint.id, endpoint])),
      lanes: new Map(endpoints.flatMap(({ id, stats }) => (stats === undefined ? [] : [[id, stats.lane]]))),
    };
  }, [endpoints]);
}

/** Whether an event is sent to some endpoints alone, and is no change of its record. */
export function isAddressed(kind: string): boolean {
  return kind === 'backfill' || kind === 'enter' || kind === 'leave';
}

/** Whether an event is a test of an endpoint, which neither the feed nor a story has. */
export function isTest(kind: string): boolean {
  return kind === 'ping' || kind === 'test';
}
