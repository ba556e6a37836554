import type { Collection } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import { currentCollection } from './current-collection.ts';
import { OutdatedDefinitions } from '../storage/engine-errors.ts';

/** A collection may be changed again while it is read again; nobody changes one this often. */
const triesMax = 3;

/** Reads by a collection's definition as it is now; when it was changed between the look at it and the read, reads again. */
export async function withCurrentCollection<Result>(
  instance: Instance,
  nameOrId: string,
  read: (collection: Collection) => Promise<Result>,
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await read(await currentCollection(instance, nameOrId));
    } catch (error) {
      if (!(error instanceof OutdatedDefinitions) || tries === triesMax) throw error;
    }
  }
}
