import type { Collection } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';

/**
 * A collection by name or id. One that is unknown here may have been made by another node: looked for again before it is a 404. A
 * promise only then.
 */
export function currentCollection(instance: Instance, nameOrId: string): Collection | Promise<Collection> {
  return instance.collections.find(nameOrId) ?? findAgain(instance, nameOrId);
}

async function findAgain(instance: Instance, nameOrId: string): Promise<Collection> {
  await instance.refresh();
  return instance.collections.get(nameOrId);
}
