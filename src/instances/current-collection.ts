import type { Collection } from '../collections/collection.ts';
import type { Instance } from './instance.ts';

/**
 * A collection by name or id. One that is unknown here may have been made by another node, and what is locked here been opened by it:
 * looked for again before it is a 404 or a 403. A promise only then.
 */
export function currentCollection(
  instance: Instance,
  nameOrId: string,
  isShut: (known: Collection) => boolean = () => false,
): Collection | Promise<Collection> {
  const known = instance.collections.find(nameOrId);
  return known === undefined || isShut(known) ? findAgain(instance, nameOrId) : known;
}

async function findAgain(instance: Instance, nameOrId: string): Promise<Collection> {
  await instance.refresh();
  return instance.collections.get(nameOrId);
}
