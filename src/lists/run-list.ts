import { AppError } from '../base/errors.ts';
import { limit } from '../sql/limit.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Reader, Tuple } from '../storage/database.ts';
import { afterCursor, cursorColumns, sealCursor } from './cursor.ts';
import type { ListPage } from './list-page.ts';
import type { ListQuery } from './list-query.ts';
import { listSelect, totalsOf, whereAll, type ListSelect } from './list-select.ts';
import type { ListSource } from './list-source.ts';

export interface ListResult extends ListPage {
  readonly items: readonly Tuple[];
  /** Tells, when it is explained, how they were found. */
  readonly probe: Sql;
}

/** One statement; two where the number of rows cannot be told from the page itself. Throws AppError `bad_request`. */
export async function runList(reader: Reader, query: ListQuery, source: ListSource): Promise<ListResult> {
  const select = listSelect(reader, query, source);
  if (query.cursor !== undefined) return runFromCursor({ query, cursor: query.cursor }, source, select);
  const { page, perPage, skipTotal } = query;
  // One row more than the page has tells whether it is the last one.
  const count = skipTotal ? perPage : perPage + 1;
  const { from, conditions, order } = select;
  const statement = sql`SELECT ${source.columns} FROM ${from}${whereAll(conditions)} ORDER BY ${order}${limit(count, (page - 1) * perPage)}`;
  const rows = await select.ask(statement);
  const items = rows.length > perPage ? rows.slice(0, perPage) : rows;
  const totals = await totalsOf(select, query, { count: items.length, isEnd: rows.length <= perPage });
  return { items, probe: select.probe, page, perPage, ...totals };
}

/** A deep page costs what the first one does: it begins where an index finds the cursor, and nothing is counted. */
async function runFromCursor(
  { query, cursor }: { readonly query: ListQuery; readonly cursor: string },
  source: ListSource,
  { from, conditions, terms, order, ask, probe }: ListSelect,
): Promise<ListResult> {
  const { cursors: sealer, dialect } = source;
  if (sealer === undefined) throw new AppError('bad_request', 'This list has no cursors.');
  const columns = joinSql([source.columns, ...cursorColumns(terms)], ', ');
  const after = afterCursor(cursor, terms, { sealer, dialect });
  const where = whereAll(after === undefined ? conditions : [...conditions, after]);
  const { page, perPage } = query;
  const statement = sql`SELECT ${columns} FROM ${from}${where} ORDER BY ${order}${limit(perPage + 1)}`;
  const rows = await ask(statement);
  const last = rows[perPage - 1];
  const nextCursor = rows.length > perPage && last !== undefined ? sealCursor(last, terms, sealer) : null;
  const items = rows.slice(0, perPage).map((tuple) => tuple.slice(0, -terms.length));
  return { items, probe, page, perPage, totalItems: -1, totalPages: -1, nextCursor };
}
