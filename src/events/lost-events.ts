import type { Timestamp } from '../base/timestamp.ts';
import { sql } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';

/** A range of the log that a restored backup does not have: events that clients may have seen, and that never were. */
export interface LostEvents {
  /** The last position that the backup has. */
  readonly after: number;
  /** The last position that is lost. No event has one of them again. */
  readonly through: number;
  /** When the backup was restored. */
  readonly restored: Timestamp;
}

/** Ranges that are remembered: after as many restores, a cursor from before the first one reads on where it stands. */
const rangesMax = 100;

/** Notes a range, in the transaction that makes the restored log go on behind it. */
export async function noteLostEvents(tx: Transaction, lost: LostEvents): Promise<void> {
  const ranges = [...(await readLostEvents(tx)), lost].slice(-rangesMax);
  const { names } = tx;
  await tx.run(sql`
    INSERT INTO ${names.table('$instance_setting')} (${names.instance.column}name, value)
    VALUES (${names.instance.value}'lost', ${JSON.stringify(ranges)})
    ON CONFLICT (${names.instance.column}name) DO UPDATE SET value = excluded.value`);
}

/** Returns the ranges that were lost, the oldest first. */
export async function readLostEvents(reader: Reader): Promise<readonly LostEvents[]> {
  const { names } = reader;
  const [row] = await reader.tuples(
    sql`SELECT value FROM ${names.table('$instance_setting')} WHERE ${names.instance.condition} AND name = 'lost'`,
  );
  // Only `noteLostEvents` writes it.
  return row === undefined ? [] : (JSON.parse(String(row[0])) as readonly LostEvents[]);
}

/** Returns the range in which a position lies that a client has from before a restore; undefined for one that is still good. */
export async function findLostEvents(reader: Reader, position: number): Promise<LostEvents | undefined> {
  const ranges = await readLostEvents(reader);
  return ranges.find(({ after, through }) => position > after && position <= through);
}

/** Returns what a client is told whose position is lost. */
export function lostText({ restored }: LostEvents): string {
  return `The instance was restored from a backup at ${restored}, which does not have all events that were read: read the records again, and begin anew.`;
}
