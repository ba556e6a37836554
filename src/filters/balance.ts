import { joinSql, sql, type Sql } from '../sql/sql.ts';

/** Joins at least one item as a balanced tree, ((a OR b) OR (c OR d)): engines limit the depth of expressions, and a chain is deep. */
export function balance(items: readonly Sql[], join: ' AND ' | ' OR '): Sql {
  if (items.length <= 2) return sql`(${joinSql(items, join)})`;
  const half = items.length >> 1;
  return sql`(${joinSql([balance(items.slice(0, half), join), balance(items.slice(half), join)], join)})`;
}
