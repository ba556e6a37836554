import { type QueryClient, queryOptions, skipToken } from '@tanstack/react-query';
import { call } from './client.ts';
import type { Schemas } from './schema.ts';

export type ReplayRequest = Schemas['ReplayRequest'];
export type Replay = Schemas['Replay'];
export type BackfillRequest = Schemas['BackfillRequest'];

const refreshMs = 1_000;

/** What can be sent to an endpoint again, or for the first time. */
export type Job =
  | { readonly kind: 'replay'; readonly body: ReplayRequest }
  | { readonly kind: 'backfill'; readonly body: BackfillRequest };

/** How many deliveries or records a job would send. It sends nothing. */
export function jobCountQuery(endpoint: string, job: Job | undefined) {
  return queryOptions({
    queryKey: ['replays', 'count', endpoint, job],
    queryFn:
      job === undefined
        ? skipToken
        : async ({ signal }) => (await request(endpoint, job, { dryRun: true, signal })).total,
    gcTime: 0,
    retry: false,
  });
}

/** Begins a job and returns its id, which is that of a replay. */
export async function startJob(endpoint: string, job: Job): Promise<string> {
  const answer = await request(endpoint, job, { dryRun: false });
  if (!('id' in answer)) throw new Error('The service counted the deliveries but did not start.');
  return answer.id;
}

function request(
  endpoint: string,
  job: Job,
  { dryRun, signal }: { readonly dryRun: boolean; readonly signal?: AbortSignal },
) {
  const [path, given] = [{ id: endpoint }, signal === undefined ? {} : { signal }];
  return job.kind === 'replay'
    ? call('POST /api/webhooks/endpoints/{id}/replay', { path, body: { ...job.body, dryRun }, ...given })
    : call('POST /api/webhooks/endpoints/{id}/backfill', { path, body: { ...job.body, dryRun }, ...given });
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
