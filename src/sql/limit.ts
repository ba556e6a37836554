import { assert } from '../base/assert.ts';
import { GenerationMap } from '../base/generation-map.ts';
import { literal, sql, type Sql } from './sql.ts';

/** Pages are as large as clients say, up to a thousand. */
const known = new GenerationMap<number, Sql>(1_000);

/**
 * ` LIMIT … OFFSET …`, for the end of a SELECT. The number of rows stands in the text: where it is a value PostgreSQL expects a
 * tenth of all rows, and plans the statement anew each time, for the few that are really asked for. SQLite plans by a bare number
 * as well; behind a cast it looks no further. Not for numbers that are others each time, as each makes a text of its own.
 */
export function limit(count: number, offset = 0): Sql {
  const rows = known.findOrAdd(count, limitTo);
  return offset === 0 ? rows : sql`${rows} OFFSET CAST(${offset} AS bigint)`;
}

function limitTo(count: number): Sql {
  assert(Number.isSafeInteger(count) && count >= 0, 'a whole number of rows');
  return sql` LIMIT CAST(${literal(count)} AS bigint)`;
}
