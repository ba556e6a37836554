import type { Collection } from '../collections/collection.ts';
import type { Instance } from './instance.ts';
import { OutdatedDefinitions } from '../storage/engine-errors.ts';
import { withCurrentCollection } from './with-current-collection.ts';

/** As {@link withCurrentCollection}, for work that only reads: it is also repeated when the definition was changed before it ended. */
export function readCurrentCollection<Result>(
  instance: Instance,
  nameOrId: string,
  read: (collection: Collection) => Promise<Result>,
): Promise<Result> {
  return withCurrentCollection(instance, nameOrId, async (collection) => {
    const result = await read(collection);
    // The read may have waited for something else first, and so have seen tables newer than this definition.
    if (instance.collections.find(collection.id) !== collection) throw new OutdatedDefinitions(undefined);
    return result;
  });
}
