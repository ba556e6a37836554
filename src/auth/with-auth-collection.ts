import { AppError } from '../base/errors.ts';
import type { AuthOptions } from '../collections/auth-options.ts';
import type { Collection } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import { withCurrentCollection } from '../instances/with-current-collection.ts';

/** A collection of accounts. */
export interface AuthCollection extends Collection {
  readonly auth: AuthOptions;
}

/** Does this by an auth collection's definition as it is now. Throws not_found where there is no such one. */
export async function withAuthCollection<Result>(
  instance: Instance,
  nameOrId: string,
  work: (collection: AuthCollection) => Promise<Result>,
): Promise<Result> {
  // It may have been made by another node.
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
