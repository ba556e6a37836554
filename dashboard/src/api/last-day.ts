import { queryOptions } from '@tanstack/react-query';
import { call, type Collection, client } from './client.ts';

const refreshMs = 30_000;
const hourMs = 3_600_000;

/** How the service is, and what its operator should know. */
export const healthQuery = queryOptions({
  queryKey: ['health'],
  queryFn: async ({ signal }) => (await call('GET /api/health', { signal })).data,
  refetchInterval: refreshMs,
});

export interface HourCount {
  /** When the hour begins. */
  readonly at: Date;
  readonly requests: number;
  readonly failures: number;
}

const dayHours = 24;

/** Requests by hour over the last day, as the request log has them; it keeps those that failed longest. */
export const lastDayQuery = queryOptions({
  queryKey: ['logs', 'by-hour'],
  queryFn: async ({ signal }): Promise<readonly HourCount[]> => {
    const from = new Date(Math.floor(Date.now() / hourMs) * hourMs - (dayHours - 1) * hourMs);
    const since = client.filter('created >= {:from}', { from });
    const [all, failed] = await Promise.all([
      call('GET /api/logs/stats', { query: { filter: since }, signal }),
      call('GET /api/logs/stats', { query: { filter: `${since} && data.status >= 500` }, signal }),
    ]);
    const [requests, failures] = [all, failed].map(
      (counts) =>
        new Map(counts.map(({ date, total }) => [new Date(date.replace(' ', 'T')).getTime(), total])),
    );
    return Array.from({ length: dayHours }, (_, index) => {
      const at = new Date(from.getTime() + index * hourMs);
      return { at, requests: requests?.get(at.getTime()) ?? 0, failures: failures?.get(at.getTime()) ?? 0 };
    });
  },
  refetchInterval: refreshMs,
});

/** How many events the last day has brought. */
export const eventCountQuery = queryOptions({
  queryKey: ['events', 'count'],
  queryFn: async ({ signal }) => {
    const filter = client.filter('created >= {:from}', { from: new Date(Date.now() - dayHours * hourMs) });
    const query = { filter, perPage: 1, fields: 'totalItems' };
    const page = await call('GET /api/webhooks/events', { query, signal });
    return 'totalItems' in page ? page.totalItems : 0;
  },
  refetchInterval: refreshMs,
});

export const endpointsQuery = queryOptions({
  queryKey: ['endpoints'],
  queryFn: async ({ signal }) =>
    (await call('GET /api/webhooks/endpoints', { query: { perPage: 1000, skipTotal: true }, signal })).items,
  refetchInterval: refreshMs,
});

/** How many records each collection has, by the id of the collection. */
export function countsQuery(collections: readonly Collection[]) {
  return queryOptions({
    queryKey: ['records', 'counts', collections.map(({ id }) => id)],
    queryFn: async ({ signal }) => {
      const counts = await Promise.all(
        collections.map(async ({ id }) => {
          const query = { perPage: 1, fields: 'id' };
          const page = await call('GET /api/collections/{collection}/records', {
            path: { collection: id },
            query,
            signal,
          });
          return [id, 'totalItems' in page ? page.totalItems : 0] as const;
        }),
      );
      return new Map(counts);
    },
    enabled: collections.length > 0,
  });
}
