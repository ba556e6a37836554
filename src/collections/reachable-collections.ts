import type { Caller } from '../rules/caller.ts';
import { reaches } from '../rules/reaches.ts';
import type { CollectionFinder } from './collection-store.ts';

/**
 * The collections that the caller has to do with. To an API key that is bound to some the others are not there, neither their
 * records nor the names of their fields, whichever way a path tries to get to them.
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
