import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { call, client } from './client.ts';
import { sendAgain } from './deliveries.ts';
import type { Delivery } from './events.ts';

const refreshMs = 4_000;

/** Deliveries that failed for one reason. */
export interface FailureGroup {
  readonly cause: string;
  readonly count: number;
  /** Of these, how many are still attempted by themselves. */
  readonly pending: number;
  /** The last of them. */
  readonly last: Pick<Delivery, 'id' | 'created'>;
}

export interface FailureGroups {
  readonly groups: readonly FailureGroup[];
  /** Only the last ones were looked at, so there may be more. */
  readonly isPart: boolean;
}

const looked = 1_000;

const failed = (endpoint: string): string =>
  client.filter("endpoint = {:endpoint} && cause != '' && status != 'delivered' && status != 'cancelled'", {
    endpoint,
  });

/** What has not arrived, by its cause: the most frequent first. */
export function failureGroupsQuery(endpoint: string) {
  return queryOptions({
    queryKey: ['deliveries', 'groups', endpoint],
    queryFn: async ({ signal }): Promise<FailureGroups> => {
      const query = {
        filter: failed(endpoint),
        sort: '-created,-id',
        perPage: looked,
        skipTotal: true,
        fields: 'id,created,cause,status',
      };
      const { items } = await call('GET /api/webhooks/deliveries', { query, signal });
      const byCause = Map.groupBy(items, ({ cause }) => cause);
      const groups = [...byCause].flatMap(([cause, rows]): readonly FailureGroup[] => {
        const [last] = rows;
        if (last === undefined) return [];
        const pending = rows.filter(({ status }) => status === 'pending').length;
        return [{ cause, count: rows.length, pending, last: { id: last.id, created: last.created } }];
      });
      return { groups: groups.toSorted((a, b) => b.count - a.count), isPart: items.length === looked };
    },
    refetchInterval: refreshMs,
  });
}

const dayMs = 86_400_000;
/** How many deliveries of the last day failed for good, by the ids of their endpoints; at most the last 1,000 of them. */
export const exhaustedQuery = queryOptions({
  queryKey: ['deliveries', 'exhausted'],
  queryFn: async ({ signal }): Promise<ReadonlyMap<string, number>> => {
    const filter = client.filter("status = 'exhausted' && updated >= {:since}", {
      since: new Date(Date.now() - dayMs),
    });
    const query = { filter, sort: '-created', perPage: looked, skipTotal: true, fields: 'endpoint' };
    const { items } = await call('GET /api/webhooks/deliveries', { query, signal });
    const byEndpoint = Map.groupBy(items, ({ endpoint }) => endpoint);
    return new Map([...byEndpoint].map(([id, rows]) => [id, rows.length]));
  },
  refetchInterval: 30_000,
});

/** All deliveries of a group, for those who send it again: counted when they ask, not when the page was made. */
export function groupIdsQuery(endpoint: string, cause: string) {
  return queryOptions({
    queryKey: ['deliveries', 'group', endpoint, cause],
    queryFn: async ({ signal }) => {
      const query = {
        filter: `${failed(endpoint)} && ${client.filter('cause = {:cause}', { cause })}`,
        sort: 'created,id',
        perPage: looked,
        fields: 'id',
      };
      const page = await call('GET /api/webhooks/deliveries', { query, signal });
      const ids = page.items.map(({ id }) => id);
      return { ids, total: 'totalItems' in page ? page.totalItems : ids.length };
    },
    gcTime: 0,
    staleTime: 0,
  });
}

/** Sends a group again, and tells how far it has come. */
export async function sendGroupAgain(
  queries: QueryClient,
  ids: readonly string[],
  onProgress: (sent: number) => void,
): Promise<void> {
  for (let sent = 0; sent < ids.length; sent += progressStep) {
    await sendAgain(queries, ids.slice(sent, sent + progressStep));
    onProgress(Math.min(ids.length, sent + progressStep));
  }
}

const progressStep = 20;
