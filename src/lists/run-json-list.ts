import { limit } from '../sql/limit.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { JsonWriter, Reader } from '../storage/database.ts';
import type { ListPage } from './list-page.ts';
import type { ListQuery } from './list-query.ts';
import { countRows, listSelect, whereAll } from './list-select.ts';
import type { ListSource } from './list-source.ts';

export interface JsonList extends ListPage {
  /** The JSON of the items with commas between them, in UTF-8. */
  readonly items: Uint8Array;
  /** Tells, when it is explained, how they were found. */
  readonly probe: Sql;
}

const nothing = new Uint8Array();

/**
 * As `runList`, of pages by number, where the engine writes each row's `json` by itself: a third of the time of reading its
 * values and writing them here. Throws AppError `bad_request`.
 */
export async function runJsonList(
  reader: Reader,
  query: ListQuery,
  source: ListSource & { readonly json: Sql; readonly writer: JsonWriter },
): Promise<JsonList> {
  const select = listSelect(reader, query, source);
  const { page, perPage, skipTotal } = query;
  const offset = (page - 1) * perPage;
  const { from, conditions, order } = select;
  const rows = sql`SELECT ${source.json} AS "$json" FROM ${from}${whereAll(conditions)} ORDER BY ${order}${limit(perPage, offset)}`;
  const statement = source.writer.page(rows);
  const [row] = await select.ask(statement);
  const items = row?.[0] instanceof Uint8Array ? row[0] : nothing;
  const count = Number(row?.[1] ?? 0);
  const found = { items, probe: select.probe, page, perPage };
  if (skipTotal) return { ...found, totalItems: -1, totalPages: -1 };
  // Rows that end within the page are the last ones; behind the end of all of them there is nothing to count from.
  const isLastPage = count < perPage && (count > 0 || page === 1);
  const totalItems = isLastPage ? offset + count : await countRows(select);
  return { ...found, totalItems, totalPages: Math.ceil(totalItems / perPage) };
}
