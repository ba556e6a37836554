import { AppError } from '../base/errors.ts';
import { compileFilter } from '../filters/compile.ts';
import { compileSort, type SortTerm, sortTerms } from '../filters/sort.ts';
import { joinSql, limit, sql, type Sql } from '../sql/sql.ts';
import type { Reader, SearchOptions, Tuple } from '../storage/database.ts';
import type { ListQuery } from './list-query.ts';
import { afterCursor, cursorColumns, type ListSource, sealCursor } from './list-source.ts';

/** A page of a list: the selected rows, or what was made of each. */
export interface ListResult<Item = Tuple> extends ListPage {
  readonly items: readonly Item[];
}

/** Runs a list as one statement, or two where the page does not tell the total. Throws AppError `bad_request`. */
export async function runList(reader: Reader, query: ListQuery, source: ListSource): Promise<ListResult> {
  const select = listSelect(reader, query, source);
  if (query.cursor !== undefined) return runFromCursor({ ...query, cursor: query.cursor }, source, select);
  const { page, perPage, skipTotal } = query;
  // One more row than the page has tells whether it is the last page.
  const count = skipTotal ? perPage : perPage + 1;
  const { from, conditions, order } = select;
  const statement = sql`SELECT ${source.columns} FROM ${from}${whereAll(conditions)} ORDER BY ${order}${limit(count, (page - 1) * perPage)}`;
  const rows = await select.ask(statement);
  const items = rows.length > perPage ? rows.slice(0, perPage) : rows;
  const totals = await totalsOf(select, query, { count: items.length, isEnd: rows.length <= perPage });
  return { items, page, perPage, ...totals };
}

async function runFromCursor(
  query: ListQuery & { readonly cursor: string },
  source: ListSource,
  select: ListSelect,
): Promise<ListResult> {
  const { page, perPage } = query;
  const behind = cursorPage(query, select, source);
  const rows = await select.ask(behind.select(source.columns));
  const items = rows.slice(0, perPage).map((tuple) => tuple.slice(0, -behind.width));
  return { items, page, perPage, ...behind.endOf(rows) };
}

/** What every statement of a list has in common. */
export interface ListSelect {
  readonly from: Sql;
  readonly conditions: readonly Sql[];
  readonly terms: readonly SortTerm[];
  readonly order: Sql;
  readonly ask: (statement: Sql, options?: SearchOptions) => Promise<Tuple[]>;
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
  return { from, conditions, terms, order, ask };
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

/** Returns the envelope of a list with the JSON texts of its items. */
export function listJson(page: ListPage, items: readonly string[]): string {
  return `{"items":[${items.join(',')}${listEnd(page)}`;
}

function listEnd({ page, perPage, totalItems, totalPages, nextCursor }: ListPage): string {
  if (nextCursor !== undefined) return `],"perPage":${perPage},"nextCursor":${JSON.stringify(nextCursor)}}`;
  return `],"page":${page},"perPage":${perPage},"totalItems":${totalItems},"totalPages":${totalPages}}`;
}

/** What the envelope of a list holds besides its items. */
export interface ListPage {
  readonly page: number;
  readonly perPage: number;
  /** -1 where it was not counted, like `totalPages`. */
  readonly totalItems: number;
  readonly totalPages: number;
  /** The next cursor, null at the end; absent where the list is read by pages. */
  readonly nextCursor?: string | null;
}

/** A page that begins after a cursor. A deep page costs what the first one does, because an index finds where it begins. */
export interface CursorPage {
  /** Selects these columns, followed by those that make the next cursor; one row more than the page has. */
  readonly select: (columns: Sql) => Sql;
  /** How many columns make the next cursor. */
  readonly width: number;
  /** Returns the rest of the page: the next cursor, null at the end. Nothing is counted. */
  readonly endOf: (rows: readonly Tuple[]) => Omit<ListPage, 'page' | 'perPage'>;
}

/** Throws `bad_request` for a cursor of another list, and for an order that cursors do not support. */
export function cursorPage(
  { cursor, perPage }: { readonly cursor: string; readonly perPage: number },
  { from, conditions, terms, order }: ListSelect,
  { cursors: sealer, dialect }: Pick<ListSource, 'cursors' | 'dialect'>,
): CursorPage {
  if (sealer === undefined) throw new AppError('bad_request', 'This list has no cursors.');
  const told = cursorColumns(terms);
  const after = afterCursor(cursor, terms, { sealer, dialect });
  const where = whereAll(after === undefined ? conditions : [...conditions, after]);
  return {
    width: told.length,
    select: (columns) =>
      sql`SELECT ${joinSql([columns, ...told], ', ')} FROM ${from}${where} ORDER BY ${order}${limit(perPage + 1)}`,
    endOf: (rows) => {
      const last = rows[perPage - 1];
      const nextCursor = rows.length > perPage && last !== undefined ? sealCursor(last, terms, sealer) : null;
      return { totalItems: -1, totalPages: -1, nextCursor };
    },
  };
}
