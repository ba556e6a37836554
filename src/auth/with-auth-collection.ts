import { AppError } from '../base/errors.ts';
import type { AuthOptions } from '../collections/auth-options.ts';
import type { Collection } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import { withCurrentCollection } from '../instances/with-current-collection.ts';

/** A collection of accounts. */
export interface AuthCollection extends Collection {
  readonly auth: AuthOptions;
}

/** Runs `work` with the current definition of an auth collection. Throws not_found when there is none by that name or id. */
export async function withAuthCollection<Result>(
  instance: Instance,
  nameOrId: string,
  work: (collection: AuthCollection) => Promise<Result>,
): Promise<Result> {
  // Another node may have made it.
  if (instance.collections.find(nameOrId) === undefined) await instance.refresh();
  if (instance.collections.find(nameOrId) === undefined) throw noAuthCollection();
  return withCurrentCollection(instance, nameOrId, (collection) => {
    if (!isAuthCollection(collection)) throw noAuthCollection();
    return work(collection);
  });
}

function isAuthCollection(collection: Collection): collection is AuthCollection {
  return collection.auth !== undefined;
}

function noAuthCollection(): AppError {
  return new AppError('not_found', 'Missing or invalid auth collection context.');
}
