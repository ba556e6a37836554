import { joinSql, sql, type Sql } from '../sql/sql.ts';

/** ((a OR b) OR (c OR d)): engines limit the depth of an expression, and a chain is as deep as it is long. At least one. */
export function balance(items: readonly Sql[], join: ' AND ' | ' OR '): Sql {
  if (items.length <= 2) return sql`(${joinSql(items, join)})`;
  const half = items.length >> 1;
  return sql`(${joinSql([balance(items.slice(0, half), join), balance(items.slice(half), join)], join)})`;
}
