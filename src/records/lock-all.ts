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
 * Locks what the first try, which gave `found`, may have left out. A statement that has waited for a row's lock leaves the row out if it is
 * gone by then, also where the same transaction has made it anew: the new row is younger than what the statement sees, and yet the
 * record was there all the time. So while rows are missing they are looked for without a lock, and locked again if they are there. Not
 * needed where there is one writer.
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
