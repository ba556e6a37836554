import type { Collection } from '../collections/collection.ts';
import { superusersName } from '../collections/superusers-name.ts';
import type { Caller } from '../rules/caller.ts';

/** Returns the caller that a record of an auth collection is when it makes a request. */
export function callerOf({ id: collectionId, name }: Collection, id: string): Caller {
  return name === superusersName ? { kind: 'superuser', id } : { kind: 'user', id, collectionId };
}
