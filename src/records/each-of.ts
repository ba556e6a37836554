import { dialectOf } from '../filters/dialect-of.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Names } from '../storage/database.ts';

const asked = sql`"$asked"`;

/** A question that has a row for each of these: its text is the same however many there are. */
export function eachOf({ engine }: Names, ids: readonly string[]): Sql {
  const dialect = dialectOf(engine);
  return sql`SELECT ${dialect.valueOfEach(asked).sql} FROM ${dialect.each(sql`${JSON.stringify(ids)}`, asked)}`;
}
