import { AppError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import type { CompanionName } from '../instances/companion-collections.ts';
import type { Instance } from '../instances/instance.ts';

/**
 * Returns one of the companion collections of accounts. Throws bad_request when an instance that is older than accounts has a
 * collection of its own by that name.
 */
export function getCompanion({ collections }: Instance, name: CompanionName): Collection {
  const found = collections.find(name);
  if (found?.system === true) return found;
  throw new AppError('bad_request', `The collection ${name} of this instance is not the service's own.`);
}
