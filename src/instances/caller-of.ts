import type { Collection } from '../collections/collection.ts';
import { superusersName } from './system-collections.ts';
import type { Caller } from '../rules/caller.ts';

/** Who a record of an auth collection is when it asks for something. */
export function callerOf({ id: collectionId, name }: Collection, id: string): Caller {
  return name === superusersName ? { kind: 'superuser', id } : { kind: 'user', id, collectionId };
}
