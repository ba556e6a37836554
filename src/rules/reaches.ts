import { AppError } from '../base/errors.ts';
import type { Caller } from './caller.ts';

/** What of a collection decides about who reaches it. */
export interface Reached {
  readonly id: string;
  readonly system: boolean;
}

/**
 * Whether the caller has to do with the collection at all: an API key may be bound to some, and those of the service itself
 * need `admin`. Asked before every rule (`admit`), and of every collection that a path of a filter or an expand leads to
 * (`reachableCollections`).
 */
export function reaches(caller: Caller, { id, system }: Reached): boolean {
  if (caller.kind !== 'superuser' || caller.key === undefined) return true;
  const { scopes, collections } = caller.key;
  if (scopes.includes('admin')) return true;
  return !system && (collections === null || collections.includes(id));
}

/** Throws forbidden. */
export function requireReach(caller: Caller, collection: Reached): void {
  if (!reaches(caller, collection))
    throw new AppError('forbidden', 'The API key does not reach this collection.');
}
