import type { Database } from '../storage/database.ts';
import { PostgresWindowStore } from './postgres-window-store.ts';
import type { CountedInstance, WindowStore } from './window-store.ts';

/** The time at which something is counted, and the store where nodes count together. */
export interface Counting {
  readonly nowMs: number;
  /** Absent when no other process counts. */
  readonly store?: WindowStore | undefined;
}

const stores = new WeakMap<Database, WindowStore>();

/** Returns how clients of this instance are counted now: on PostgreSQL together with all nodes that share its database. */
export function countingOf(instance: CountedInstance): Counting {
  const nowMs = instance.dueClock.now();
  if (instance.database.engine === 'sqlite') return { nowMs };
  let store = stores.get(instance.database);
  if (store === undefined) stores.set(instance.database, (store = new PostgresWindowStore(instance)));
  return { nowMs, store };
}
