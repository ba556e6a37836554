import { sql } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';
import type { Timestamp } from '../base/timestamp.ts';

/** What of an instance's log is not kept any more: the last position, and the time of the newest event there. */
export interface TrimPoint {
  readonly position: number;
  readonly time: Timestamp;
}

const nothing: TrimPoint = { position: 0, time: '' };

/** Notes, in the transaction that trims it, up to where the log is not kept any more. */
export async function noteTrimmed(tx: Transaction, trimmed: TrimPoint): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    INSERT INTO ${names.table('$instance_setting')} (${names.instance.column}name, value)
    VALUES (${names.instance.value}'trimmed', ${`${trimmed.position} ${trimmed.time}`})
    ON CONFLICT (${names.instance.column}name) DO UPDATE SET value = excluded.value`);
}

/** Reports to a reader that events after its position or time are no longer in the log. */
export async function readTrimmed(reader: Reader): Promise<TrimPoint> {
  const { names } = reader;
  const [row] = await reader.tuples(
    sql`SELECT value FROM ${names.table('$instance_setting')} WHERE ${names.instance.condition} AND name = 'trimmed'`,
  );
  return row === undefined ? nothing : toTrimmed(String(row[0]));
}

/** Reads a value that `noteTrimmed` has stored. */
export function toTrimmed(stored: string): TrimPoint {
  // A time has a blank in it as well.
  const [position = '', ...time] = stored.split(' ');
  return { position: Number(position), time: time.join(' ') };
}
