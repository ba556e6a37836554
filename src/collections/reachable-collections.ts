import type { Caller } from '../rules/caller.ts';
import { reaches } from '../rules/reaches.ts';
import type { CollectionFinder } from './collection-store.ts';

/**
 * Returns the collections that the caller can reach. For an API key that is bound to some, the others do not exist: neither their
 * records nor the names of their fields, whichever way a path leads to them.
 */
export function reachableCollections(collections: CollectionFinder, caller: Caller): CollectionFinder {
  if (caller.kind !== 'superuser' || caller.key === undefined) return collections;
  return {
    find: (nameOrId) => {
      const found = collections.find(nameOrId);
      return found !== undefined && reaches(caller, found) ? found : undefined;
    },
  };
}
