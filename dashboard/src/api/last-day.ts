import { queryOptions } from '@tanstack/react-query';
import { call, client } from './client.ts';
import { type HourOfLog, readHours } from './logs.ts';
import type { Schemas } from './schema.ts';

const refreshMs = 30_000;
const endpointsRefreshMs = 10_000;
const hourMs = 3_600_000;

/** How the service is, and what its operator should know. */
export const healthQuery = queryOptions({
  queryKey: ['health'],
  queryFn: async ({ signal }) => (await call('GET /api/health', { signal })).data,
  refetchInterval: refreshMs,
});

const dayHours = 24;

/** The request log by hour over the last day, also those hours without a request. */
export const lastDayQuery = queryOptions({
  queryKey: ['logs', 'last-day'],
  queryFn: async ({ signal }): Promise<readonly HourOfLog[]> => {
    const from = new Date(Math.floor(Date.now() / hourMs) * hourMs - (dayHours - 1) * hourMs);
    const hours = await readHours(client.filter('created >= {:from}', { from }), signal);
    return Array.from({ length: dayHours }, (_, index) => {
      const at = new Date(from.getTime() + index * hourMs);
      return hours.get(at.getTime()) ?? { at, total: 0, refused: 0, failed: 0, execTimeP95: null };
    });
  },
  refetchInterval: refreshMs,
});

export type ListedEndpoint = Schemas['ListedEndpoint'];

/** All endpoints, each with how it does. There are at most 1,000. */
export const endpointsQuery = queryOptions({
  queryKey: ['endpoints'],
  queryFn: async ({ signal }) => {
    const query = { perPage: 1000, skipTotal: true, include: 'stats' } as const;
    return (await call('GET /api/webhooks/endpoints', { query, signal })).items;
  },
  refetchInterval: endpointsRefreshMs,
});

/** How many records each collection has, and how many were changed in the last day. */
export const collectionStatsQuery = queryOptions({
  queryKey: ['records', 'counts'],
  queryFn: async ({ signal }) => call('GET /api/collections/meta/stats', { signal }),
  refetchInterval: refreshMs,
});
