import { keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query';
import { call, client } from './client.ts';
import { endpointsQuery } from './last-day.ts';
import type { Operations, Schemas } from './schema.ts';

export type EndpointDraft = Schemas['EndpointDraft'];
export type EndpointCheck = Schemas['EndpointCheck'];
export type NewEndpoint = Schemas['EndpointWithSecret'];
export type Backlog = NonNullable<Operations['POST /api/webhooks/endpoints/{id}/resume']['body']['backlog']>;

/** How far back figures go. */
export const spans = ['24h', '7d', '30d'] as const;
export type Span = (typeof spans)[number];

const refreshMs = 5_000;
const statsRefreshMs = 15_000;
const dayMs = 86_400_000;
const spanDays = { '24h': 1, '7d': 7, '30d': 30 } as const;

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

/** Changes endpoints, and has everything that shows them look again. */
export function endpointActions(queries: QueryClient) {
  const refresh = async (): Promise<void> => {
    await Promise.all([
      queries.invalidateQueries({
        queryKey: ['endpoints'],
        predicate: ({ queryKey }) => queryKey[1] !== 'check',
      }),
      queries.invalidateQueries({ queryKey: ['deliveries'] }),
    ]);
  };
  // What is deleted is not asked for any more, also not by a list that still shows it.
  const forget = (ids: readonly string[]): void => {
    queries.setQueryData(endpointsQuery.queryKey, (list) => list?.filter(({ id }) => !ids.includes(id)));
    for (const id of ids)
      for (const kind of ['view', 'stats', 'lane'])
        queries.removeQueries({ queryKey: ['endpoints', kind, id] });
  };
  const thenRefresh = async <Answer>(work: Promise<Answer>): Promise<Answer> => {
    try {
      return await work;
    } finally {
      await refresh();
    }
  };
  return {
    create: async (body: Schemas['EndpointCreate']) =>
      thenRefresh(call('POST /api/webhooks/endpoints', { body })),
    update: async (id: string, body: Schemas['EndpointUpdate']) =>
      thenRefresh(call('PATCH /api/webhooks/endpoints/{id}', { path: { id }, body })),
    pause: async (id: string) =>
      thenRefresh(call('POST /api/webhooks/endpoints/{id}/pause', { path: { id } })),
    resume: async (id: string, backlog: Backlog) =>
      thenRefresh(call('POST /api/webhooks/endpoints/{id}/resume', { path: { id }, body: { backlog } })),
    verify: async (id: string) =>
      thenRefresh(call('POST /api/webhooks/endpoints/{id}/verify', { path: { id } })),
    pauseAll: async (ids: readonly string[]) =>
      thenRefresh(
        oneAfterTheOther(ids, async (id) =>
          call('POST /api/webhooks/endpoints/{id}/pause', { path: { id } }),
        ),
      ),
    resumeAll: async (ids: readonly string[]) =>
      thenRefresh(
        oneAfterTheOther(ids, async (id) =>
          call('POST /api/webhooks/endpoints/{id}/resume', { path: { id }, body: { backlog: 'drain' } }),
        ),
      ),
    remove: async (id: string) => {
      await call('DELETE /api/webhooks/endpoints/{id}', { path: { id } });
      forget([id]);
      await refresh();
    },
    rotate: async (id: string, body: Schemas['EndpointSecretRotation']) =>
      thenRefresh(call('POST /api/webhooks/endpoints/{id}/secret/rotate', { path: { id }, body })),
    test: async (id: string, body: Schemas['EndpointTest']) =>
      thenRefresh(call('POST /api/webhooks/endpoints/{id}/test', { path: { id }, body })),
    apply: async (body: Schemas['EndpointImport']) =>
      thenRefresh(
        call('PUT /api/webhooks/endpoints/import', { body }).then((answer) => {
          if (body.dryRun !== true) forget(answer.deleted.map(({ id }) => id));
          return answer;
        }),
      ),
  };
}

async function oneAfterTheOther(
  ids: readonly string[],
  work: (id: string) => Promise<unknown>,
): Promise<void> {
  for (const id of ids) await work(id);
}
