import { infiniteQueryOptions, queryOptions, useQuery } from '@tanstack/react-query';
import { call, type Collection, client } from './client.ts';
import { endpointsQuery } from './last-day.ts';
import type { Schemas } from './schema.ts';

export type Event = Schemas['Event'];
export type Delivery = Schemas['Delivery'];
export type Attempt = Schemas['Attempt'];
export type Endpoint = Schemas['Endpoint'];
export type Lane = Schemas['Lane'];

/** Which events of the log are shown; an empty text is no condition. */
export interface EventSelection {
  /** The name of a collection. */
  readonly collection: string;
  /** `record.create`, … */
  readonly kind: string;
  /** The id of a record. */
  readonly record: string;
  /** Dates as the API writes them. */
  readonly from: string;
  readonly until: string;
}

const pageSize = 40;
const waitingMs = 2_500;
const restMs = 20_000;

/** The log of events page by page, the newest first. Each page begins where the one before ended, whatever is added meanwhile. */
export function eventsQuery(selection: EventSelection) {
  return infiniteQueryOptions({
    queryKey: ['events', 'list', selection],
    queryFn: async ({ pageParam, signal }) => {
      const { record, filter } = toParameters(selection);
      const query = {
        cursor: pageParam,
        perPage: pageSize,
        sort: '-created',
        ...(record !== '' && { record }),
        ...(filter !== '' && { filter }),
      };
      const page = await call('GET /api/webhooks/events', { query, signal });
      return { items: page.items, nextCursor: 'nextCursor' in page ? page.nextCursor : null };
    },
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

/** A record with its collection has its own parameter, which an index serves; a record alone is a condition like others. */
function toParameters({ collection, kind, record, from, until }: EventSelection) {
  const isStory = collection !== '' && record !== '';
  const conditions = [
    !isStory && collection !== '' && client.filter('collection = {:collection}', { collection }),
    !isStory && record !== '' && client.filter('record = {:record}', { record }),
    kind !== '' && client.filter('kind = {:kind}', { kind }),
    from !== '' && client.filter('created >= {:from}', { from }),
    until !== '' && client.filter('created <= {:until}', { until }),
  ];
  return {
    record: isStory ? `${collection}/${record}` : '',
    filter: conditions.filter((condition) => condition !== false).join(' && '),
  };
}

/** What happened to a record, the last first, and who was told. Looked at again while something is on its way. */
export function storyQuery(collection: Collection, record: string) {
  return infiniteQueryOptions({
    ...eventsQuery({ collection: collection.id, kind: '', record, from: '', until: '' }),
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

/** The endpoints that fail, by their ids: why something waits although it is due. */
export const lanesQuery = queryOptions({
  queryKey: ['lanes'],
  queryFn: async ({ signal }) =>
    (await call('GET /api/webhooks/lanes', { query: { perPage: 1000, skipTotal: true }, signal })).items,
  refetchInterval: 5_000,
});

/** Where deliveries go, and how these places are at present. Undefined as long as that is not there. */
export interface Surroundings {
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  readonly lanes: ReadonlyMap<string, Lane>;
}

export function useSurroundings(): Surroundings | undefined {
  const { data: endpoints } = useQuery(endpointsQuery);
  const { data: lanes } = useQuery(lanesQuery);
  if (endpoints === undefined) return undefined;
  return {
    endpoints: new Map(endpoints.map((endpoint) => [endpoint.id, endpoint])),
    lanes: new Map((lanes ?? []).map((lane) => [lane.id, lane])),
  };
}

/** Whether an event is sent to some endpoints alone, and is no change of its record. */
export function isAddressed(kind: string): boolean {
  return kind === 'backfill' || kind === 'enter' || kind === 'leave';
}

/** Whether an event is a test of an endpoint, which neither the feed nor a story has. */
export function isTest(kind: string): boolean {
  return kind === 'ping' || kind === 'test';
}
