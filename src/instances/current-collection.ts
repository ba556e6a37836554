import type { Collection } from '../collections/collection.ts';
import type { Instance } from './instance.ts';

/**
 * Returns a collection by name or id. If it is unknown here, or closed to the caller (`isShut`), another node may have created or
 * opened it: definitions are read again before the answer is 404 or 403. Only then is the result a promise.
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
