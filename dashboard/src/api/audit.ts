import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { call, client } from './client.ts';
import { allOf, typedCondition } from './expressions.ts';
import type { Operations, Schemas } from './schema.ts';

export type AuditEntry = Schemas['AuditEntry'];

export interface AuditSelection {
  /** A word, or an expression of docs/filters.md. */
  readonly filter: string;
  readonly sort: string;
}

/** The latest first. */
export const auditSort = '-created';

type AuditReader = (
  query: Operations['GET /api/audit']['query'],
  signal: AbortSignal,
) => Promise<{ readonly items: readonly AuditEntry[] }>;

const pageSize = 60;
const wordTemplate = ['action', 'actorId', 'address', 'requestId', 'collection', 'target', 'id']
  .map((name) => `${name} ~ {:word}`)
  .join(' || ');

/** The entries of a selection, page by page. */
export function auditPages(key: readonly string[], { filter, sort }: AuditSelection, read: AuditReader) {
  return infiniteQueryOptions({
    queryKey: [...key, filter, sort],
    queryFn: async ({ pageParam, signal }) => {
      const condition = allOf(typedCondition(filter, wordTemplate));
      const query = { filter: condition, sort, page: pageParam, perPage: pageSize, skipTotal: true } as const;
      return (await read(query, signal)).items;
    },
    initialPageParam: 1,
    getNextPageParam: (last, _pages, page) => (last.length < pageSize ? undefined : page + 1),
  });
}

/** The audit log of the instance. */
export function auditQuery(selection: AuditSelection) {
  return auditPages(['audit'], selection, async (query, signal) => call('GET /api/audit', { query, signal }));
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
