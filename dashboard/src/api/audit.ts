import { infiniteQueryOptions } from '@tanstack/react-query';
import { call } from './client.ts';
import type { Schemas } from './schema.ts';

export type AuditEntry = Schemas['AuditEntry'];

const pageSize = 60;

/** The entries that a filter selects, the latest first. */
export function auditQuery(filter: string) {
  return infiniteQueryOptions({
    queryKey: ['audit', filter],
    queryFn: async ({ pageParam, signal }) => {
      const query = { filter, sort: '-created', page: pageParam, perPage: pageSize, skipTotal: true };
      return (await call('GET /api/audit', { query, signal })).items;
    },
    initialPageParam: 1,
    getNextPageParam: (last, _pages, page) => (last.length < pageSize ? undefined : page + 1),
  });
}
