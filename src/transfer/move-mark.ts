import { AppError } from '../base/errors.ts';
import { toTimestamp } from '../base/timestamp.ts';
import { sql } from '../sql/sql.ts';
import type { Database, Reader, Transaction } from '../storage/database.ts';

/** The setting of the whole service in a database while data is being moved into it. */
const markName = 'moving';

/** Reserves an empty database for a move. Throws bad_request for any other. */
export async function markMove(control: Database, nowMs: number): Promise<void> {
  const mark = async (tx: Transaction): Promise<void> => {
    await requireNoMove(tx);
    const [instance, setting] = [tx.names.table('$instance'), tx.names.table('$setting')];
    const row = await tx.get(
      sql`SELECT 1 FROM ${instance} UNION ALL SELECT 1 FROM ${setting} UNION ALL ${leftSchemas} LIMIT 1`,
    );
    if (row !== undefined)
      throw new AppError(
        'bad_request',
        'The PostgreSQL database holds data already: move into an empty one.',
      );
    await tx.run(sql`INSERT INTO ${setting} (name, value) VALUES (${markName}, ${toTimestamp(nowMs)})`);
  };
  // Alone, or a node that starts at the same moment could write its first rows unseen. It looks for the mark after that.
  await control.write(mark, { isExclusive: true });
}

/** Instances' schemas, which stay when somebody drops the schema of the internal tables to move again. */
const leftSchemas = sql`SELECT 1 FROM pg_namespace WHERE nspname ~ '^i_[a-z0-9]{15}$'`;

/** Marks the move as complete. */
export async function clearMoveMark(control: Database): Promise<void> {
  const setting = control.names.table('$setting');
  await control.write((tx) => tx.run(sql`DELETE FROM ${setting} WHERE name = ${markName}`));
}

/** Throws unavailable for a database that holds only a part of the data that was to be moved into it. */
export async function requireNoMove(control: Reader): Promise<void> {
  const setting = control.names.table('$setting');
  const mark = await control.get(sql`SELECT value FROM ${setting} WHERE name = ${markName}`);
  if (mark === undefined) return;
  throw new AppError(
    'unavailable',
    `A move into this database began at ${String(mark['value'])} and has not finished. If it is not running any more, move into another, empty database.`,
  );
}
