import { AppError } from '../../base/errors.ts';
import { superusersName } from '../../collections/superusers-name.ts';
import { sql } from '../../sql/sql.ts';
import type { Transaction } from '../../storage/database.ts';

/**
 * Throws bad_request when the superuser about to be deleted is the last one, without whom nobody could get in. Locks the rows of
 * all superusers, or two concurrent deletes could each count the other's superuser as left.
 */
export async function keepSuperuser(tx: Transaction): Promise<void> {
  const table = tx.names.collectionTable(superusersName);
  const locking = sql`SELECT id FROM ${table} ORDER BY id${tx.names.forDelete}`;
  const rows = await tx.search(locking, { isNarrow: true });
  if (rows.length <= 1) throw new AppError('bad_request', "You can't delete the only existing superuser.");
}
