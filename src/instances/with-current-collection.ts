import type { Collection } from '../collections/collection.ts';
import type { Instance } from './instance.ts';
import { currentCollection } from './current-collection.ts';
import { withCurrentDefinitions } from './with-current-definitions.ts';

/** Does this by a collection's definition as it is now; when it was changed between the look at it and a read, once more. */
export function withCurrentCollection<Result>(
  instance: Instance,
  nameOrId: string,
  work: (collection: Collection) => Promise<Result>,
): Promise<Result> {
  return withCurrentDefinitions(async () => work(await currentCollection(instance, nameOrId)));
}
