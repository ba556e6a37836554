import type { Transaction } from '../storage/database.ts';

interface Locking<Found> {
  /** Locks rows and gives what is there of them. */
  readonly lock: () => Promise<Found>;
  /** The same without a lock. */
  readonly look: () => Promise<Found>;
  /** Whether nothing is missing. */
  readonly isWhole: (found: Found) => boolean;
}

/**
 * What is there of some rows of which `found` was locked. A statement that has waited for the lock of a row which is then gone leaves it
 * out, also where the same transaction has made it anew: that row is younger than what the statement sees, and yet the record was there
 * all the time. So what is missing is looked for once more, and locked if it is there. For nothing where there is one writer.
 */
export async function lockAll<Found>(
  { names }: Transaction,
  found: Found,
  { lock, look, isWhole }: Locking<Found>,
): Promise<Found> {
  if (names.engine === 'sqlite') return found;
  let locked = found;
  while (!isWhole(locked) && isWhole(await look())) locked = await lock();
  return locked;
}
