import { queryOptions } from '@tanstack/react-query';
import { call, type Collection, client } from './client.ts';
import { type HourOfLog, readHours } from './logs.ts';

const refreshMs = 30_000;
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

export interface Changes {
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
}

/** How many records the last day has seen created, updated and deleted. */
export const changesQuery = queryOptions({
  queryKey: ['events', 'changes'],
  queryFn: async ({ signal }): Promise<Changes> => {
    const from = new Date(Date.now() - dayHours * hourMs);
    const [created = 0, updated = 0, deleted = 0] = await Promise.all(
      ['create', 'update', 'delete'].map(async (change) => {
        const filter = client.filter('created >= {:from} && kind = {:kind}', {
          from,
          kind: `record.${change}`,
        });
        const query = { filter, perPage: 1, fields: 'totalItems' };
        const page = await call('GET /api/webhooks/events', { query, signal });
        return 'totalItems' in page ? page.totalItems : 0;
      }),
    );
    return { created, updated, deleted };
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
