import type { Collection } from '../collections/collection.ts';
import type { Instance } from './instance.ts';
import { OutdatedDefinitions } from '../storage/engine-errors.ts';
import { withCurrentCollection } from './with-current-collection.ts';

/** As {@link withCurrentCollection}, for what only reads: done once more also where it was changed before that was over. */
export function readCurrentCollection<Result>(
  instance: Instance,
  nameOrId: string,
  read: (collection: Collection) => Promise<Result>,
): Promise<Result> {
  return withCurrentCollection(instance, nameOrId, async (collection) => {
    const result = await read(collection);
    // It may have waited for something else, and asked only then.
    if (instance.collections.find(collection.id) !== collection) throw new OutdatedDefinitions(undefined);
    return result;
  });
}
