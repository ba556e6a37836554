import type { Collection } from './collection.ts';
import type { Collections } from './collection-store.ts';

/** Returns a look-up of these collections alone, in their new form: rules may lead from one to another. */
export function collectionsOf(collections: readonly Collection[]): Collections {
  const byId = new Map(collections.map((collection) => [collection.id, collection]));
  const byName = new Map(collections.map((collection) => [collection.name.toLowerCase(), collection]));
  return {
    find: (nameOrId) => byName.get(nameOrId.toLowerCase()) ?? byId.get(nameOrId),
    all: () => collections,
  };
}
