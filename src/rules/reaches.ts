import { AppError } from '../base/errors.ts';
import type { Caller } from './caller.ts';

/** The part of a collection that decides which API keys reach it. */
export interface Reached {
  readonly id: string;
  readonly system: boolean;
}

/**
 * Whether the caller reaches the collection at all: an API key may be bound to some collections, and system collections need the
 * scope `admin`. Checked before every rule (`admit`), and for every collection to which a path in a filter or an expand leads
 * (`reachableCollections`).
 */
export function reaches(caller: Caller, { id, system }: Reached): boolean {
  if (caller.kind !== 'superuser' || caller.key === undefined) return true;
  const { scopes, collections } = caller.key;
  if (scopes.includes('admin')) return true;
  return !system && (collections === null || collections.includes(id));
}

/** Throws forbidden where the caller does not reach the collection. */
export function requireReach(caller: Caller, collection: Reached): void {
  if (!reaches(caller, collection))
    throw new AppError('forbidden', 'The API key does not reach this collection.');
}
