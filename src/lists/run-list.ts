import { limit } from '../sql/limit.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Reader, Tuple } from '../storage/database.ts';
import { cursorPage } from './cursor-page.ts';
import type { ListPage } from './list-page.ts';
import type { ListQuery } from './list-query.ts';
import { listSelect, totalsOf, whereAll, type ListSelect } from './list-select.ts';
import type { ListSource } from './list-source.ts';

/** A page of a list: the selected rows, or what was made of each. */
export interface ListResult<Item = Tuple> extends ListPage {
  readonly items: readonly Item[];
  /** A statement for EXPLAIN, to tell how the rows were found. */
  readonly probe: Sql;
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
  return { items, probe: select.probe, page, perPage, ...totals };
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
  return { items, probe: select.probe, page, perPage, ...behind.endOf(rows) };
}
