import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { call, client } from './client.ts';
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

/** Who has sent a delivery again by hand, the latest first. Only for those who may read the audit log. */
export function retriesQuery(delivery: string) {
  return queryOptions({
    queryKey: ['deliveries', 'retries', delivery],
    queryFn: async ({ signal }) => {
      const filter = client.filter("target = {:delivery} && action = 'delivery.retry'", { delivery });
      const query = { filter, sort: '-created', perPage: 200, skipTotal: true };
      return (await call('GET /api/audit', { query, signal })).items;
    },
  });
}

const actorNames = {
  guest: 'a guest',
  user: 'an account',
  superuser: 'a superuser',
  key: 'an API key',
  portal: 'a customer in a portal',
  operator: 'the command line',
} as const satisfies Record<AuditEntry['actor'], string>;

/** The name of who has acted, as somebody else reads it: `a superuser`. */
export function actorName({ actor }: AuditEntry): string {
  return actorNames[actor];
}
