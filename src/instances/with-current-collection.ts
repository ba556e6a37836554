import type { Collection } from '../collections/collection.ts';
import type { Instance } from './instance.ts';
import { currentCollection } from './current-collection.ts';
import { withCurrentDefinitions } from './with-current-definitions.ts';

/** Runs `work` with a collection's current definition, and again if the definition was changed between the look-up and a read. */
export function withCurrentCollection<Result>(
  instance: Instance,
  nameOrId: string,
  work: (collection: Collection) => Promise<Result>,
): Promise<Result> {
  return withCurrentDefinitions(async () => work(await currentCollection(instance, nameOrId)));
}
