import { AppError } from '../base/errors.ts';
import { sql } from '../sql/sql.ts';
import type { Database, Reader } from '../storage/database.ts';

/**
 * Marks the data of an instance whose place a backup is about to take. From the commit of the mark on no process writes to it: each reads
 * the definitions again before its next write, and finds the mark.
 */
export async function markReplaced(database: Database): Promise<void> {
  await database.write(
    (tx) =>
      tx.run(sql`
        INSERT INTO ${tx.names.table('$instance_setting')} (${tx.names.instance.column}name, value)
        VALUES (${tx.names.instance.value}'replaced', '1') ON CONFLICT (${tx.names.instance.column}name) DO NOTHING`),
    { isExclusive: true },
  );
}

/** Removes the mark: of an instance that was not replaced after all, or was restored beside its successor. */
export async function unmarkReplaced(database: Database): Promise<void> {
  await database.write(
    (tx) =>
      tx.run(
        sql`DELETE FROM ${tx.names.table('$instance_setting')} WHERE ${tx.names.instance.condition} AND name = 'replaced'`,
      ),
    { isExclusive: true },
  );
}

export async function isMarkedReplaced(reader: Reader): Promise<boolean> {
  const { names } = reader;
  const rows = await reader.tuples(
    sql`SELECT 1 FROM ${names.table('$instance_setting')} WHERE ${names.instance.condition} AND name = 'replaced'`,
  );
  return rows.length > 0;
}

/** Throws unavailable for data that is marked. */
export async function requireNotReplaced(reader: Reader): Promise<void> {
  if (await isMarkedReplaced(reader)) throw new BeingReplaced();
}

/** A backup takes the place of the instance, which takes seconds. */
export class BeingReplaced extends AppError {
  constructor() {
    super('unavailable', 'The instance is being restored from a backup.', { retryAfter: 2 });
  }
}
