import type { Collection } from '../collections/collection.ts';
import { OutdatedDefinitions } from '../storage/engine-errors.ts';
import type { Instance } from './instance.ts';

type Definitions = Pick<Instance, 'collections' | 'refresh'>;

/**
 * Returns a collection by name or id. If it is unknown here, or closed to the caller (`isShut`), another node may have created or
 * opened it: definitions are read again before the answer is 404 or 403. Only then is the result a promise.
 */
export function currentCollection(
  instance: Definitions,
  nameOrId: string,
  isShut: (collection: Collection) => boolean = () => false,
): Collection | Promise<Collection> {
  const collection = instance.collections.find(nameOrId);
  return collection === undefined || isShut(collection) ? findAgain(instance, nameOrId) : collection;
}

async function findAgain(instance: Definitions, nameOrId: string): Promise<Collection> {
  await instance.refresh();
  return instance.collections.get(nameOrId);
}

/** As {@link withCurrentCollection}, for work that only reads: it is also repeated when the definition was changed before it ended. */
export function readCurrentCollection<Result>(
  instance: Definitions,
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

/** Runs `work` with a collection's current definition, and again if the definition was changed between the look-up and a read. */
export function withCurrentCollection<Result>(
  instance: Definitions,
  nameOrId: string,
  work: (collection: Collection) => Promise<Result>,
): Promise<Result> {
  return withCurrentDefinitions(async () => work(await currentCollection(instance, nameOrId)));
}

/** Definitions may change again during a retry, but hardly this often. */
const triesMax = 10;

/** Runs `work`, and again when it met definitions that are outdated. */
export async function withCurrentDefinitions<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof OutdatedDefinitions) || tries === triesMax) throw error;
    }
  }
}
