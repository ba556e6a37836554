import type { Transaction } from '../storage/database.ts';

interface Locking<Found> {
  /** Locks the rows and returns those that are there. */
  readonly lock: () => Promise<Found>;
  /** Reads the same rows without a lock. */
  readonly look: () => Promise<Found>;
  /** Whether nothing is missing. */
  readonly isWhole: (found: Found) => boolean;
}

/**
 * Locks rows that the first try, which returned `found`, may have missed. On PostgreSQL a statement that waited for a row lock
 * skips the row if it was deleted meanwhile, even when the deleting transaction has inserted it again: the new row is younger
 * than the statement's snapshot, yet the record existed all the time. So while rows are missing they are read without a lock, and
 * locked if they are there. SQLite has one writer and does not need this.
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
