import { useQuery } from '@tanstack/react-query';
import { useOwnCollections } from '../../api/collections.ts';
import { type FilterTrial, filterTrialQuery, type TriedFilter } from '../../api/filter-trial.ts';
import { isBoundToEndpoints } from '../../api/session.ts';

/** Tries a filter on the last changes of its collections; undefined as long as there is no answer, and where there are too many collections. */
export function useFilterTrial(
  { filter, events, collections: chosen }: TriedFilter,
  isWanted: boolean,
): FilterTrial | undefined {
  const all = useOwnCollections();
  const collections = chosen.length === 0 ? all.map(({ id }) => id) : chosen;
  const options = filterTrialQuery({ filter: filter.trim(), events, collections });
  const isEnabled = isWanted && options.enabled === true && !isBoundToEndpoints();
  const { data } = useQuery({ ...options, enabled: isEnabled });
  return isEnabled ? data : undefined;
}
