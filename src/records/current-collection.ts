import type { Collection } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';

/** A collection by name or id. One that is unknown here may have been made by another node: looked for again before it is a 404. */
export async function currentCollection(instance: Instance, nameOrId: string): Promise<Collection> {
  const found = instance.collections.find(nameOrId);
  if (found !== undefined) return found;
  await instance.refresh();
  return instance.collections.get(nameOrId);
}
