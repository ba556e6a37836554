import { limit } from '../sql/limit.ts';
import { sql, type Sql } from '../sql/sql.ts';
import { answerBytesMax, answerTooLarge } from '../storage/answer-too-large.ts';
import type { Reader, Tuple } from '../storage/database.ts';
import { knownRows } from './known-rows.ts';
import type { ListPage } from './list-page.ts';
import type { ListQuery } from './list-query.ts';
import { countOf, listSelect, totalsOf, whereAll, type ListSelect } from './list-select.ts';
import type { ListSource } from './list-source.ts';
import type { RowText } from './row-text.ts';
import type { RowKind, RowTexts } from './row-texts.ts';

/** A list whose items the engine writes as JSON by itself. */
export interface JsonList {
  readonly query: ListQuery;
  readonly select: ListSelect;
  /** Position and revision of each row. */
  readonly versions: Sql;
  /** The same and the JSON. */
  readonly texts: Sql;
  readonly rows: RowKind;
}

/** How the rows of a table are written. */
export interface JsonRows {
  /** A row's JSON: the same object for all lists of it. */
  readonly json: Sql;
  /** The row's position, and its revision, which no other state of it has. */
  readonly version: Sql;
}

export interface JsonPage extends ListPage {
  /** The JSON of each item. */
  readonly items: readonly string[];
  /** Tells, when it is explained, how they were found. */
  readonly probe: Sql;
}

/** Puts a list together; it may be run more than once. Throws AppError `bad_request`. */
export function prepareJsonList(reader: Reader, query: ListQuery, source: ListSource & JsonRows): JsonList {
  const select = listSelect(reader, query, source);
  const { json, version } = source;
  return {
    query,
    select,
    versions: pageOf(select, query, version),
    texts: pageOf(select, query, sql`${version}, ${json} AS "$json"`),
    rows: { kind: json, asker: json },
  };
}

/** As `runList`, of pages by number. What rows were written as is remembered for as long as they do not change. */
export async function runJsonList(list: JsonList, texts: RowTexts = knownRows): Promise<JsonPage> {
  return (await runKnown(list, texts)) ?? (await runUnknown(list, texts));
}

/** Undefined where not all is known. */
async function runKnown(list: JsonList, texts: RowTexts): Promise<JsonPage | undefined> {
  if (!texts.isWarm(list.rows)) return undefined;
  const rows = await list.select.ask(list.versions, { isNarrow: true });
  const known = texts.find(list.rows, rows);
  return known === undefined ? undefined : pageFrom(list, rows, known);
}

async function runUnknown(list: JsonList, texts: RowTexts): Promise<JsonPage> {
  const rows = await list.select.ask(list.texts);
  return pageFrom(list, rows, texts.keep(list.rows, rows));
}

async function pageFrom(
  { query, select }: JsonList,
  rows: readonly Tuple[],
  texts: readonly RowText[],
): Promise<JsonPage> {
  let length = 0;
  for (const { text } of texts) length += text.length;
  if (length > answerBytesMax) throw answerTooLarge();
  const { page, perPage } = query;
  const counted = query.skipTotal ? undefined : rows[0]?.at(-1);
  const found = {
    count: texts.length,
    isEnd: texts.length < perPage,
    ...(typeof counted === 'number' && { totalItems: counted }),
  };
  const totals = await totalsOf(select, query, found);
  return { items: texts.map(({ text }) => text), probe: select.probe, page, perPage, ...totals };
}

/** With the number of all rows in the same statement, counted only where the page does not tell it. */
function pageOf(select: ListSelect, { page, perPage, skipTotal }: ListQuery, columns: Sql): Sql {
  const { from, conditions, order } = select;
  const rows = sql`SELECT ${columns} FROM ${from}${whereAll(conditions)} ORDER BY ${order}${limit(perPage, (page - 1) * perPage)}`;
  if (skipTotal) return rows;
  const isFull = sql`(SELECT count(*) FROM page) = ${perPage}`;
  return sql`WITH page AS MATERIALIZED (${rows}) SELECT *, CASE WHEN ${isFull} THEN (${countOf(select)}) END FROM page`;
}
