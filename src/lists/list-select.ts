import { compileFilter } from '../filters/compile.ts';
import { compileSort, sortTerms, type SortTerm } from '../filters/compile-sort.ts';
import { limit } from '../sql/limit.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Reader, SearchOptions, Tuple } from '../storage/database.ts';
import type { ListPage } from './list-page.ts';
import type { ListQuery } from './list-query.ts';
import type { ListSource } from './list-source.ts';

/** What every statement of a list has in common. */
export interface ListSelect {
  readonly from: Sql;
  readonly conditions: readonly Sql[];
  readonly terms: readonly SortTerm[];
  readonly order: Sql;
  readonly ask: (statement: Sql, options?: SearchOptions) => Promise<Tuple[]>;
  /**
   * A statement for EXPLAIN, which is never run: it finds the rows that the filter leaves or, without one, the first row in the
   * list's order. Not the page itself: for a few rows an engine may walk an index in the list's order rather than use one for the
   * filter.
   */
  readonly probe: Sql;
}

export function listSelect(reader: Reader, query: ListQuery, source: ListSource): ListSelect {
  const terms = sortTerms(query.sort, source);
  const asked = conditionsOf(query, source);
  // A page in the table's own order is found without a search, and needs no timeout.
  const isSearch = asked.length > 0 || query.sort.length > 0;
  const conditions = isSearch && source.isInTime !== undefined ? [source.isInTime, ...asked] : asked;
  const order = compileSort(terms, source.dialect);
  const from = source.scope === undefined ? source.from : sql`${source.from}${source.scope.joins()}`;
  const ask: ListSelect['ask'] = (statement, options) =>
    reader.search(statement, { ...options, isQuick: !isSearch });
  const found = sql`SELECT 1 FROM ${from}${whereAll(conditions)}`;
  const probe = query.filter === undefined ? sql`${found} ORDER BY ${order}${limit(1)}` : found;
  return { from, conditions, terms, order, ask, probe };
}

/** ` WHERE …`, or nothing. */
export function whereAll(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? sql`` : sql` WHERE ${joinSql(conditions, ' AND ')}`;
}

/** Returns the statement that counts the rows on all pages of the list. */
export function countOf({ from, conditions }: Pick<ListSelect, 'from' | 'conditions'>): Sql {
  return sql`SELECT count(*) FROM ${from}${whereAll(conditions)}`;
}

/**
 * Returns how many rows and pages the list has. The page that was `found` has `count` rows; it tells the total if it is the last
 * page (`isEnd`), or if its statement has counted all rows (`totalItems`). Otherwise they are counted now, also for an empty page
 * beyond the last one, which does not tell the total.
 */
export async function totalsOf(
  select: ListSelect,
  { page, perPage, skipTotal }: ListQuery,
  found: { readonly count: number; readonly isEnd: boolean; readonly totalItems?: number },
): Promise<Pick<ListPage, 'totalItems' | 'totalPages'>> {
  if (skipTotal) return { totalItems: -1, totalPages: -1 };
  const { count, isEnd } = found;
  let totalItems = found.totalItems ?? (page - 1) * perPage + count;
  if (found.totalItems === undefined && (!isEnd || (count === 0 && page > 1))) {
    const [row] = await select.ask(countOf(select));
    totalItems = Number(row?.[0] ?? 0);
  }
  return { totalItems, totalPages: Math.ceil(totalItems / perPage) };
}

function conditionsOf({ filter }: ListQuery, source: ListSource): readonly Sql[] {
  const { where, scope } = source;
  const conditions: Sql[] = [];
  if (where !== undefined) conditions.push(sql`(${where})`);
  if (filter !== undefined && scope === undefined) conditions.push(compileFilter(filter, source));
  const condition = scope?.conditionWith(filter);
  if (condition !== undefined) conditions.push(condition);
  return conditions;
}
