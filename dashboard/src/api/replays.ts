import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { call } from './client.ts';
import type { Schemas } from './schema.ts';

export type ReplayRequest = Schemas['ReplayRequest'];
export type Replay = Schemas['Replay'];
export type BackfillRequest = Schemas['BackfillRequest'];

const refreshMs = 1_000;

/** How many deliveries a replay would have. It sends nothing. */
export function replayCountQuery(endpoint: string, body: ReplayRequest) {
  return queryOptions({
    queryKey: ['replays', 'count', endpoint, body],
    queryFn: async ({ signal }) => {
      const answer = await call('POST /api/webhooks/endpoints/{id}/replay', {
        path: { id: endpoint },
        body: { ...body, dryRun: true },
        signal,
      });
      return answer.total;
    },
    gcTime: 0,
    retry: false,
  });
}

/** Begins a replay and returns its id. */
export async function startReplay(endpoint: string, body: ReplayRequest): Promise<string> {
  const answer = await call('POST /api/webhooks/endpoints/{id}/replay', { path: { id: endpoint }, body });
  if (!('id' in answer)) throw new Error('The service has counted and not begun.');
  return answer.id;
}

/** How many records a backfill would send. It sends nothing. */
export function backfillCountQuery(endpoint: string, body: BackfillRequest) {
  return queryOptions({
    queryKey: ['backfills', 'count', endpoint, body],
    queryFn: async ({ signal }) => {
      const answer = await call('POST /api/webhooks/endpoints/{id}/backfill', {
        path: { id: endpoint },
        body: { ...body, dryRun: true },
        signal,
      });
      return answer.total;
    },
    gcTime: 0,
    retry: false,
  });
}

/** Begins a backfill and returns its id, which is that of a replay. */
export async function startBackfill(endpoint: string, body: BackfillRequest): Promise<string> {
  const answer = await call('POST /api/webhooks/endpoints/{id}/backfill', { path: { id: endpoint }, body });
  if (!('id' in answer)) throw new Error('The service has counted and not begun.');
  return answer.id;
}

export function replayQuery(id: string) {
  return queryOptions({
    queryKey: ['replays', 'view', id],
    queryFn: async ({ signal }) => call('GET /api/webhooks/replays/{id}', { path: { id }, signal }),
    // What is on its way when a replay is over goes on to become delivered or failed.
    refetchInterval: ({ state }) =>
      state.data !== undefined && state.data.state !== 'running' && state.data.pending === 0
        ? false
        : refreshMs,
  });
}

/** Ends a replay with what it has not sent yet. */
export async function cancelReplay(queries: QueryClient, id: string): Promise<void> {
  const replay = await call('DELETE /api/webhooks/replays/{id}', { path: { id } });
  queries.setQueryData(replayQuery(id).queryKey, replay);
}
