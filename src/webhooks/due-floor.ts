import { GenerationMap } from '../base/generation-map.ts';
import type { Database } from '../storage/database.ts';
import { endpointLimits } from './endpoint-limits.ts';

/** Whoever writes a delivery takes its time before the commit; one that appears later than this is found by a look from the start. */
const lateMs = 2_000;
const fromStartEveryMs = 5_000;

/**
 * Where a look for pending deliveries begins. PostgreSQL keeps the index entries of rows that were settled for as long as any
 * snapshot may want to see them, and a look from the start steps over every one: 100,000 of them under one forgotten
 * transaction cost each look tens of milliseconds. What is older than the first pending one of the last look needs no second look.
 *
 * Times are milliseconds since 1970 by the clock that deliveries are due by.
 */
export class DueFloor {
  #since = 0;
  #fromStartAt = 0;

  /** 0 from time to time, and when the clock was set back, so that nothing rests on the order of commits. */
  beginAt(now: number): number {
    if (now >= this.#since && now < this.#fromStartAt) return this.#since;
    this.#fromStartAt = now + fromStartEveryMs;
    return 0;
  }

  /** After a look at `now` that found this as the first pending one, or none. */
  note(now: number, firstDue: number | undefined): void {
    this.#since = Math.min(firstDue ?? now, now - lateMs);
  }

  /** The next look begins at the start. */
  reset(): void {
    this.#fromStartAt = 0;
  }
}

/** Those of endpoints that are gone are forgotten, as others come. */
type DueFloors = GenerationMap<string, DueFloor>;

const floors = new WeakMap<Pick<Database, 'engine'>, DueFloors>();

/** Of one endpoint; kept while the instance is open, as its lanes come and go. Where settled rows leave nothing behind there is none. */
export function findDueFloor(database: Pick<Database, 'engine'>, endpointId: string): DueFloor | undefined {
  if (database.engine === 'sqlite') return undefined;
  let known = floors.get(database);
  if (known === undefined) floors.set(database, (known = new GenerationMap(endpointLimits.endpointsMax)));
  return known.findOrAdd(endpointId, () => new DueFloor());
}
