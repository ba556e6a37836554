import {
  keepPreviousData,
  type Query,
  type QueryClient,
  queryOptions,
  useQueryClient,
} from '@tanstack/react-query';
import { call, client } from './client.ts';
import { endpointsQuery } from './last-day.ts';
import type { Operations, Schemas } from './schema.ts';

export type EndpointDraft = Schemas['EndpointDraft'];
export type EndpointCheck = Schemas['EndpointCheck'];
export type NewEndpoint = Schemas['EndpointWithSecret'];
export type Backlog = NonNullable<Operations['POST /api/webhooks/endpoints/{id}/resume']['body']['backlog']>;

const refreshMs = 5_000;
const statsRefreshMs = 15_000;
const dayMs = 86_400_000;
/** How far back figures go. */
const spanDays = { '24h': 1, '7d': 7, '30d': 30 } as const;
export type Span = keyof typeof spanDays;

/** One endpoint. Looked at again, as the service may pause it by itself. */
export function endpointQuery(id: string) {
  return queryOptions({
    queryKey: ['endpoints', 'view', id],
    queryFn: async ({ signal }) => call('GET /api/webhooks/endpoints/{id}', { path: { id }, signal }),
    refetchInterval: refreshMs,
  });
}

/** Whether and why an endpoint is held back; null for one whose lane is not there. */
export function laneQuery(id: string) {
  return queryOptions({
    queryKey: ['endpoints', 'lane', id],
    queryFn: async ({ signal }) => {
      const query = { filter: client.filter('id = {:id}', { id }), perPage: 1, skipTotal: true };
      return (await call('GET /api/webhooks/lanes', { query, signal })).items[0] ?? null;
    },
    refetchInterval: refreshMs,
  });
}

function stepsOf(span: Span) {
  if (span === '24h') return {};
  const from = new Date(Date.now() - (spanDays[span] - 1) * dayMs).toISOString().replace('T', ' ');
  return { from, step: 'day' } as const;
}

/** What became of the attempts of an endpoint: by hours for a day, else by days. */
export function endpointStatsQuery(id: string, span: Span) {
  return queryOptions({
    queryKey: ['endpoints', 'stats', id, span],
    queryFn: async ({ signal }) =>
      call('GET /api/webhooks/endpoints/{id}/stats', { path: { id }, query: stepsOf(span), signal }),
    refetchInterval: statsRefreshMs,
  });
}

/** The same of all endpoints together, with the events themselves. */
export const webhookStatsQuery = queryOptions({
  queryKey: ['webhooks', 'stats'],
  queryFn: async ({ signal }) => call('GET /api/webhooks/stats', { signal }),
  refetchInterval: statsRefreshMs,
});

/** What the service says of an endpoint before it is saved. */
export function endpointCheckQuery(draft: EndpointDraft) {
  return queryOptions({
    queryKey: ['endpoints', 'check', draft],
    queryFn: async ({ signal }) => call('POST /api/webhooks/endpoints/check', { body: draft, signal }),
    // What was said of the draft before stays until the next answer, so nothing flickers while one types.
    placeholderData: keepPreviousData,
    // A draft may hold a secret or an authorization header.
    gcTime: 0,
    staleTime: 30_000,
  });
}

type EndpointChange = Extract<
  keyof Operations,
  `${'POST' | 'PATCH' | 'PUT' | 'DELETE'} /api/webhooks/endpoints${string}`
>;

/** Changes endpoints, and has everything that shows them look again. */
export function useEndpointChange() {
  const queries = useQueryClient();
  return async <Key extends EndpointChange>(key: Key, id: string, body?: Operations[Key]['body']) => {
    try {
      return await call(key, { path: { id }, ...(body !== undefined && { body }) });
    } finally {
      await refreshEndpoints(queries);
    }
  };
}

export async function refreshEndpoints(queries: QueryClient): Promise<void> {
  const isShown = ({ queryKey }: Query): boolean => queryKey[1] !== 'check';
  await Promise.all([
    queries.invalidateQueries({ queryKey: ['endpoints'], predicate: isShown }),
    queries.invalidateQueries({ queryKey: ['deliveries'] }),
  ]);
}

/** What is deleted is not asked for any more, also not by a list that still shows it. */
export async function forgetEndpoints(queries: QueryClient, ids: readonly string[]): Promise<void> {
  queries.setQueryData(endpointsQuery.queryKey, (list) => list?.filter(({ id }) => !ids.includes(id)));
  for (const id of ids)
    for (const kind of ['view', 'stats', 'lane'])
      queries.removeQueries({ queryKey: ['endpoints', kind, id] });
  await refreshEndpoints(queries);
}
