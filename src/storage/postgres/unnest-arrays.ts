import { joinSql, sql, type Sql } from '../../sql/sql.ts';
import type { PostgresArray } from './postgres-array.ts';

/** What stands behind FROM, and makes rows of an array for each column. The arrays are its values; its text is that of their types. */
export function unnestArrays(arrays: readonly PostgresArray[], alias: Sql, columns: readonly Sql[]): Sql {
  const casts = arrays.map(({ type, bytes }) => sql`CAST(${bytes} AS ${type})`);
  return sql`unnest(${joinSql(casts, ', ')}) AS ${alias} (${joinSql(columns, ', ')})`;
}
