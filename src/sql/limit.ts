import { assert } from '../base/assert.ts';
import { GenerationMap } from '../base/generation-map.ts';
import { literal, sql, type Sql } from './sql.ts';

/** The LIMITs by number of rows. Clients choose the size of a page, up to a thousand. */
const known = new GenerationMap<number, Sql>(1_000);

/**
 * ` LIMIT … OFFSET …`, for the end of a SELECT. The number of rows is a literal: for a parameter PostgreSQL assumes a tenth of all rows,
 * a generic plan looks expensive, and so it plans the statement anew each time. The cast keeps SQLite from planning by the number. Not
 * for numbers that differ each time, as each makes another SQL text.
 */
export function limit(count: number, offset = 0): Sql {
  const rows = known.findOrAdd(count, limitTo);
  return offset === 0 ? rows : sql`${rows} OFFSET CAST(${offset} AS bigint)`;
}

function limitTo(count: number): Sql {
  assert(Number.isSafeInteger(count) && count >= 0, 'a whole number of rows');
  return sql` LIMIT CAST(${literal(count)} AS bigint)`;
}
