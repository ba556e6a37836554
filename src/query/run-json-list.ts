import { limit, sql, type Sql } from '../sql/sql.ts';
import { answerBytesMax, answerTooLarge, type Reader, type Tuple } from '../storage/database.ts';
import {
  countOf,
  cursorPage,
  type CursorPage,
  type ListPage,
  listSelect,
  type ListSelect,
  totalsOf,
  whereAll,
} from './run-list.ts';
import { rowJson, type RowKind, type RowJsonCache } from './row-cache.ts';
import type { ListQuery } from './list-query.ts';
import type { ListSource } from './list-source.ts';

/** The statements of a list whose items the engine writes as JSON. */
export interface JsonList {
  readonly query: ListQuery;
  readonly select: ListSelect;
  /** Selects position and revision of each row. */
  readonly versions: Sql;
  /** Selects position, revision and JSON of each row. */
  readonly texts: Sql;
  readonly rows: RowKind;
  /** The part for cursors; absent where the list is read by pages. */
  readonly behind?: CursorPage;
}

/** How the rows of a table are written. */
export interface JsonRows {
  /** Selects a row's JSON. */
  readonly json: Sql;
  /** The same object for all lists of such rows. */
  readonly kind: RowKind;
  /** Selects the row's position and its revision, which no other state of the row has. */
  readonly version: Sql;
}

export interface JsonPage extends ListPage {
  /** The JSON of each item. */
  readonly items: readonly string[];
}

/** Prepares the statements of a list, which may be run more than once. Throws AppError `bad_request`. */
export function prepareJsonList(reader: Reader, query: ListQuery, source: ListSource & JsonRows): JsonList {
  const select = listSelect(reader, query, source);
  const { json, kind, version } = source;
  const { cursor } = query;
  const behind = cursor === undefined ? undefined : cursorPage({ ...query, cursor }, select, source);
  const page = (columns: Sql): Sql => behind?.select(columns) ?? pageOf(select, query, columns);
  return {
    query,
    select,
    versions: page(version),
    texts: page(sql`${version}, ${json} AS "$json"`),
    rows: kind,
    ...(behind && { behind }),
  };
}

/** As `runList`, with JSON items. The JSON of a row is remembered for as long as the row does not change. */
export async function runJsonList(list: JsonList, texts: RowJsonCache = rowJson): Promise<JsonPage> {
  return (await runKnown(list, texts)) ?? (await runUnknown(list, texts));
}

/** Asks for revisions only. Returns undefined where not all texts are known. */
async function runKnown(list: JsonList, texts: RowJsonCache): Promise<JsonPage | undefined> {
  if (!list.rows.isFilled) return undefined;
  const rows = await list.select.ask(list.versions);
  const known = texts.find(list.rows, rows);
  return known === undefined ? undefined : pageFrom(list, rows, known);
}

async function runUnknown(list: JsonList, texts: RowJsonCache): Promise<JsonPage> {
  const rows = await list.select.ask(list.texts);
  return pageFrom(list, rows, texts.keep(list.rows, rows));
}

async function pageFrom(
  { query, select, behind }: JsonList,
  rows: readonly Tuple[],
  found: readonly string[],
): Promise<JsonPage> {
  const { page, perPage } = query;
  const texts = found.slice(0, perPage);
  let length = 0;
  for (const text of texts) length += text.length;
  if (length > answerBytesMax) throw answerTooLarge();
  const end =
    behind === undefined ? await totalsOf(select, query, countedOf(rows, query)) : behind.endOf(rows);
  return { items: texts, page, perPage, ...end };
}

/** Returns what the rows of a page tell about the total. */
function countedOf(
  rows: readonly Tuple[],
  { perPage, skipTotal }: ListQuery,
): Parameters<typeof totalsOf>[2] {
  const counted = skipTotal ? undefined : rows[0]?.at(-1);
  return {
    count: rows.length,
    isEnd: rows.length < perPage,
    ...(typeof counted === 'number' && { totalItems: counted }),
  };
}

/** Returns the statement for a numbered page. It also counts all rows, but only where the page is full and so does not tell the total. */
function pageOf(select: ListSelect, { page, perPage, skipTotal }: ListQuery, columns: Sql): Sql {
  const { from, conditions, order } = select;
  const rows = sql`SELECT ${columns} FROM ${from}${whereAll(conditions)} ORDER BY ${order}${limit(perPage, (page - 1) * perPage)}`;
  if (skipTotal) return rows;
  const isFull = sql`(SELECT count(*) FROM page) = ${perPage}`;
  return sql`WITH page AS MATERIALIZED (${rows}) SELECT *, CASE WHEN ${isFull} THEN (${countOf(select)}) END FROM page`;
}
