import { infiniteQueryOptions } from '@tanstack/react-query';
import { call } from './client.ts';
import { isAddressed, isTest, type Event } from './events.ts';
import type { Schemas } from './schema.ts';
import { isBoundToEndpoints } from './session.ts';

/** Whether one endpoint was sent an event, or why not. */
export type EndpointExplanation = Schemas['EndpointExplanation'];
export type FalseComparison = Schemas['FalseComparison'];

const pageSize = 100;
const undecidedMs = 2_500;

/**
 * Why each endpoint was sent an event, or was not, page by page in the order in which the endpoints were made. Asked again when endpoints change,
 * and while one of them is still to be decided.
 */
export function explanationQuery(event: Pick<Event, 'id' | 'kind'>) {
  return infiniteQueryOptions({
    queryKey: ['endpoints', 'why', event.id],
    queryFn: async ({ pageParam, signal }) =>
      call('GET /api/webhooks/events/{id}/why', {
        path: { id: event.id },
        query: { perPage: pageSize, cursor: pageParam },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
    // Tests, backfills and transitions are for some endpoints alone, and a key for some endpoints may not ask about others.
    enabled: !isTest(event.kind) && !isAddressed(event.kind) && !isBoundToEndpoints(),
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ items }) => items.some(({ reason }) => reason === 'undecided')) === true
        ? undecidedMs
        : false,
  });
}
