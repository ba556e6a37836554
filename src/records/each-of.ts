import { dialectOf } from '../filters/dialect-of.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Names } from '../storage/database.ts';

const asked = sql`"$asked"`;

/** Returns a subquery with one row per id. Its text is the same for any number of ids, so that it is prepared once. */
export function eachOf({ engine }: Names, ids: readonly string[]): Sql {
  const dialect = dialectOf(engine);
  return sql`SELECT ${dialect.valueOfEach(asked).sql} FROM ${dialect.each(sql`${JSON.stringify(ids)}`, asked)}`;
}
