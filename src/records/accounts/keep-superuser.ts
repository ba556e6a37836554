import { AppError } from '../../base/errors.ts';
import { superusersName } from '../../instances/system-collections.ts';
import { sql } from '../../sql/sql.ts';
import type { Transaction } from '../../storage/database.ts';

/**
 * Before a superuser is deleted: throws bad_request for the last one, without whom nobody could get in. All of them are held, so
 * that two who delete each other do not both find one left.
 */
export async function keepSuperuser(tx: Transaction): Promise<void> {
  const table = tx.names.collectionTable(superusersName);
  const rows = await tx.tuples(sql`SELECT id FROM ${table} ORDER BY id${tx.names.forDelete}`);
  if (rows.length <= 1) throw new AppError('bad_request', "You can't delete the only existing superuser.");
}
