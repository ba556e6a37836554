import type { Ownership } from '../deliveries/delivery.ts';
import { sql, type Sql } from '../sql/sql.ts';

/** The instances that are run in this thread. Until an instance has left, what this thread has begun in it may still be stored. */
export class Placements implements Ownership {
  /** By instance: a number for each time that it was placed here. */
  readonly #epochs = new Map<string, number>();
  readonly #leaving = new Set<string>();
  #epoch = 0;

  /** How many there are, with those that are leaving. */
  get count(): number {
    return this.#epochs.size;
  }

  add(instanceId: string): void {
    this.#leaving.delete(instanceId);
    this.#epoch += 1;
    this.#epochs.set(instanceId, this.#epoch);
  }

  /** Begins to move an instance elsewhere: nothing new is begun in it. */
  leave(instanceId: string): void {
    this.#leaving.add(instanceId);
  }

  /** Ends the move: nothing of this thread is stored any more in what others may have changed since. */
  remove(instanceId: string): void {
    this.#leaving.delete(instanceId);
    this.#epochs.delete(instanceId);
  }

  owns(instanceId: string): boolean {
    return this.#epochs.has(instanceId) && !this.#leaving.has(instanceId);
  }

  epochOf(instanceId: string): string {
    return String(this.#epochs.get(instanceId) ?? '');
  }

  fence(instanceId: string): Sql {
    return this.#epochs.has(instanceId) ? sql`TRUE` : sql`FALSE`;
  }
}
