import { joinSql, sql, type Sql } from '../../sql/sql.ts';
import type { PostgresArray } from './postgres-array.ts';

/** A FROM item that makes rows out of one array for each column. Its SQL text depends only on the arrays' types. */
export function unnestArrays(arrays: readonly PostgresArray[], alias: Sql, columns: readonly Sql[]): Sql {
  const casts = arrays.map(({ type, bytes }) => sql`CAST(${bytes} AS ${type})`);
  return sql`unnest(${joinSql(casts, ', ')}) AS ${alias} (${joinSql(columns, ', ')})`;
}
