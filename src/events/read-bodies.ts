import { sql } from '../sql/sql.ts';
import type { Reader } from '../storage/database.ts';

/** Returns the bodies of the events at these positions, without those that were expunged. */
export async function readBodies(
  reader: Reader,
  positions: readonly number[],
): Promise<ReadonlyMap<number, Uint8Array>> {
  if (positions.length === 0) return new Map();
  const { names } = reader;
  const rows = await reader.tuples(sql`
    SELECT position, body FROM ${names.table('$event')}
    WHERE ${names.instance.condition} AND position${names.anyNumberOf(positions)} AND expunged IS NULL`);
  // The column is a BLOB and never null.
  return new Map(rows.map(([position, body]) => [Number(position), body as Uint8Array]));
}
