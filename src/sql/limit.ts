import { sql, type Sql } from './sql.ts';

/**
 * ` LIMIT … OFFSET …`, for the end of a SELECT. SQLite plans by the number that is bound to a bare parameter here, and
 * prepares the statement again each time it is bound; behind a cast it looks no further.
 */
export function limit(count: number, offset?: number): Sql {
  if (offset === undefined) return sql` LIMIT CAST(${count} AS bigint)`;
  return sql` LIMIT CAST(${count} AS bigint) OFFSET CAST(${offset} AS bigint)`;
}
