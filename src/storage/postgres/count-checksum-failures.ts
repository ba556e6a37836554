import { sql } from '../../sql/sql.ts';
import type { Reader } from '../database.ts';

/** Returns how many damaged pages the server has found in this database; undefined where it keeps no checksums. */
export async function countChecksumFailures(reader: Reader): Promise<number | undefined> {
  const [row] = await reader.tuples(
    sql`SELECT CAST(checksum_failures AS integer) FROM pg_stat_database WHERE datname = current_database()`,
  );
  return typeof row?.[0] === 'number' ? row[0] : undefined;
}
