import type { Instance } from '../instances/instance.ts';
import type { Database } from '../storage/database.ts';
import { PostgresWindowStore } from './postgres-window-store.ts';
import type { WindowStore } from './window-store.ts';

/** When something is counted, and with whom. */
export interface Counting {
  readonly nowMs: number;
  /** Absent where nobody else counts. */
  readonly store?: WindowStore | undefined;
}

export type CountedInstance = Pick<Instance, 'id' | 'database' | 'dueClock' | 'sealer'>;

const stores = new WeakMap<Database, WindowStore>();

/** What clients of this instance do now: counted together with all nodes that share its database. */
export function countingOf(instance: CountedInstance): Counting {
  const nowMs = instance.dueClock.now();
  if (instance.database.engine === 'sqlite') return { nowMs };
  let store = stores.get(instance.database);
  if (store === undefined) stores.set(instance.database, (store = new PostgresWindowStore(instance)));
  return { nowMs, store };
}
