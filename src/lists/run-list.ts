import { compileFilter } from '../filters/compile.ts';
import { compileSort } from '../filters/compile-sort.ts';
import type { Dialect } from '../filters/dialect.ts';
import type { Operand, Resolve } from '../filters/operand.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Reader, Tuple } from '../storage/database.ts';
import type { ListQuery } from './list-query.ts';

/** The table a list is of. */
export interface ListSource {
  /** What stands behind SELECT: the columns of the tuples. */
  readonly columns: Sql;
  /** What stands behind FROM. */
  readonly from: Sql;
  /** What must hold beside the filter: the list rule, the owner of the rows. */
  readonly where?: Sql;
  /** The hidden position: unique, never null; the default order and the end of every other. */
  readonly tieBreaker: Operand;
  readonly resolve: Resolve;
  readonly dialect: Dialect;
  /** For the macros, in milliseconds since 1970. */
  readonly now: number;
}

export interface ListResult {
  readonly items: readonly Tuple[];
  readonly page: number;
  readonly perPage: number;
  /** -1 when it was not asked for. */
  readonly totalItems: number;
  readonly totalPages: number;
}

/** One statement; two where the number of rows cannot be told from the page itself. Throws AppError `bad_request`. */
export async function runList(reader: Reader, query: ListQuery, source: ListSource): Promise<ListResult> {
  const { page, perPage, skipTotal } = query;
  const offset = (page - 1) * perPage;
  const where = whereOf(query, source);
  const order = compileSort(query.sort, source);
  // One row more than the page has tells whether it is the last one.
  const limit = skipTotal ? perPage : perPage + 1;
  const rows = await reader.tuples(
    sql`SELECT ${source.columns} FROM ${source.from}${where} ORDER BY ${order} LIMIT ${limit} OFFSET ${offset}`,
  );
  const items = rows.length > perPage ? rows.slice(0, perPage) : rows;
  if (skipTotal) return { items, page, perPage, totalItems: -1, totalPages: -1 };
  const isLastPage = rows.length <= perPage && (rows.length > 0 || page === 1);
  const totalItems = isLastPage ? offset + rows.length : await countRows(reader, source.from, where);
  return { items, page, perPage, totalItems, totalPages: Math.ceil(totalItems / perPage) };
}

function whereOf({ filter }: ListQuery, source: ListSource): Sql {
  const conditions: Sql[] = [];
  if (source.where !== undefined) conditions.push(sql`(${source.where})`);
  if (filter !== undefined) conditions.push(compileFilter(filter, source));
  return conditions.length === 0 ? sql`` : sql` WHERE ${joinSql(conditions, ' AND ')}`;
}

async function countRows(reader: Reader, from: Sql, where: Sql): Promise<number> {
  const [row] = await reader.tuples(sql`SELECT count(*) FROM ${from}${where}`);
  return Number(row?.[0] ?? 0);
}
