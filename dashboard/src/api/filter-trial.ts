import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { call, Failure } from './client.ts';
import type { Endpoint } from './events.ts';
import type { Schemas } from './schema.ts';

/** What an endpoint's filter lets through of the last changes of its collections. */
export interface FilterTrial {
  /** How many changes it was tried on: those of the last day, or where there are none or too many the last ones. */
  readonly changes: number;
  readonly isDay: boolean;
  readonly matches: number;
  /** Changes whose state before is not in the log any more, about which the filter asks. */
  readonly unknown: number;
  /** When the last change that matches happened; undefined where none does. */
  readonly lastMatch: string | undefined;
  /** The event of the last change that does not match. */
  readonly lastMiss: string | undefined;
  /** What is allowed and yet hardly meant, in words. */
  readonly warnings: readonly string[];
}

export interface TriedFilter extends Pick<Endpoint, 'filter' | 'events'> {
  /** Ids of the collections that it is tried on; none where there are too many. */
  readonly collections: readonly string[];
}

/** Changes of a collection that the service tries a filter on. */
const changesMax = 100;
/** Each collection is a request. */
const triedCollectionsMax = 5;
const dayMs = 86_400_000;

export function filterTrialQuery({ filter, events, collections }: TriedFilter) {
  return queryOptions({
    queryKey: ['filter-trial', filter, events, collections],
    queryFn: async (): Promise<FilterTrial> => {
      const answers = await Promise.all(
        collections.map(async (collection) => test(filter, collection, collections.length > 1)),
      );
      const since = new Date(Date.now() - dayMs).toISOString().replace('T', ' ');
      const isDayWhole = answers.every(
        ({ items }) => items.length < changesMax || (items.at(-1)?.created ?? '') < since,
      );
      const all = answers
        .flatMap(({ items }) => items)
        .filter(({ kind }) => events.includes(kind))
        .toSorted((one, other) => (one.created < other.created ? 1 : -1));
      const ofDay = all.filter(({ created }) => created >= since);
      const isDay = isDayWhole && ofDay.length > 0;
      const tried = isDay ? ofDay : all;
      return {
        changes: tried.length,
        isDay,
        matches: tried.filter(({ isMet }) => isMet === true).length,
        unknown: tried.filter(({ isMet }) => isMet === null).length,
        lastMatch: all.find(({ isMet }) => isMet === true)?.created,
        lastMiss: all.find(({ isMet }) => isMet === false)?.id,
        warnings: [...new Set(answers.flatMap(({ warnings }) => warnings))],
      };
    },
    placeholderData: keepPreviousData,
    retry: false,
    enabled: filter !== '' && collections.length > 0 && collections.length <= triedCollectionsMax,
  });
}

type Answer = Pick<Schemas['FilterTest'], 'items' | 'warnings'>;

async function test(filter: string, collection: string, isOneOfMany: boolean): Promise<Answer> {
  try {
    return await call('POST /api/webhooks/filters/test', { body: { filter, collection } });
  } catch (error) {
    // Where an endpoint is for several collections, its filter need not fit each of them.
    if (isOneOfMany && error instanceof Failure && error.status === 400) return { items: [], warnings: [] };
    throw error;
  }
}
