import { AppError } from '../base/errors.ts';
import type { SlotValue } from '../sql/slot.ts';
import { bindSlots, type Sql } from '../sql/sql.ts';
import {
  answerBytesMax,
  AnswerTooLarge,
  answerTooLarge,
  bytesOfTuple,
  type Reader,
  type SearchOptions,
  type Tuple,
} from '../storage/database.ts';
import type { ListQuery, Paging, RowMemory } from './list-query.ts';
import { type CursorSealer, type ListSource, sealCursor } from './list-source.ts';
import { cursorPage, type ListColumns, type ListPlan, planList } from './plan.ts';
import type { RowJsonCache, RowKind } from './row-cache.ts';

/** A plan with the values of one request. */
export interface BoundList {
  readonly plan: ListPlan;
  /** The values for the plan's slots. */
  readonly values: readonly SlotValue[];
  readonly paging: Paging;
  /** Undefined where a list is read by pages only. */
  readonly sealer?: CursorSealer;
  /** Where the rows are to be counted; undefined for work of the service itself. */
  readonly memory?: RowMemory | undefined;
  /** A shorter time than the query timeout. */
  readonly timeoutMs?: number | undefined;
}

/** A page of a list: the selected rows, or a value of each. */
export interface ListResult<Item = Tuple> extends ListPage {
  readonly items: readonly Item[];
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

/** Plans and runs a list of one of the service's own tables. Throws AppError `bad_request`. */
export function runList(reader: Reader, query: ListQuery, source: ListSource): Promise<ListResult> {
  const { page, perPage, cursor, memory, timeoutMs } = query;
  const offset = cursor === undefined ? (page - 1) * perPage : undefined;
  const plan = planList({ ...query, offset }, source, { rows: source.columns });
  const { sealer } = source;
  return runRows(reader, { plan, values: [], paging: query, memory, timeoutMs, ...(sealer && { sealer }) });
}

/** Runs a list as one statement, or two where the page lies behind the last one. */
export async function runRows(reader: Reader, list: BoundList): Promise<ListResult> {
  const rows = await readRows(reader, list, 'rows');
  const { extraColumns } = list.plan;
  const items = rows.slice(0, list.paging.perPage);
  return {
    items: extraColumns === 0 ? items : items.map((tuple) => tuple.slice(0, -extraColumns)),
    ...(await pageOf(reader, list, rows)),
  };
}

/**
 * As `runRows`, for rows of position, revision and JSON, and versions of position and revision. While all rows of such lists are
 * cached, only the versions are read.
 */
export async function runJson(
  reader: Reader,
  list: BoundList,
  { kind, texts }: { readonly kind: RowKind; readonly texts: RowJsonCache },
): Promise<ListResult<string>> {
  let rows: readonly Tuple[] = kind.isFilled ? await readRows(reader, list, 'versions') : [];
  let jsonTexts = kind.isFilled ? texts.find(kind, rows) : undefined;
  if (jsonTexts === undefined) {
    rows = await readRows(reader, list, 'rows');
    jsonTexts = texts.keep(kind, rows);
  }
  const items = jsonTexts.slice(0, list.paging.perPage);
  let length = 0;
  for (const text of items) length += text.length;
  if (length > answerBytesMax) throw answerTooLarge();
  return { items, ...(await pageOf(reader, list, rows)) };
}

function readRows(
  reader: Reader,
  { plan, values, paging, sealer, memory, timeoutMs }: BoundList,
  what: keyof ListColumns,
): Promise<Tuple[]> {
  const { rows, versions = rows } = plan.page ?? plan.columns;
  const selected = what === 'rows' ? rows : versions;
  const { cursor } = paging;
  if (cursor !== undefined && sealer === undefined)
    throw new AppError('bad_request', 'This list has no cursors.');
  const statement =
    cursor === undefined || sealer === undefined ? selected : cursorPage(plan, selected, { cursor, sealer });
  const { isQuick } = plan.select;
  const bound = bindSlots(statement, values);
  const options = { isQuick, ...(timeoutMs !== undefined && { timeoutMs }) };
  return memory === undefined
    ? reader.search(bound, options)
    : readAdmitted(reader, bound, { ...options, memory, sizes: plan.sizes });
}

interface AdmittedRead extends SearchOptions {
  readonly memory: RowMemory;
  readonly sizes: ListPlan['sizes'];
}

/** What the first rows of a plan may take in memory, and how much more than before what does not fit. */
const bytesFirst = 1024 * 1024;
const bytesMin = 64 * 1024;
const growth = 4;

/**
 * Reads rows into memory that was admitted before. Where that is too little, the rows are dropped and read again into more: so no request
 * holds memory while waiting for more of it. A plan that was used before begins with what its last rows took.
 */
async function readAdmitted(
  reader: Reader,
  statement: Sql,
  { memory, sizes, ...options }: AdmittedRead,
): Promise<Tuple[]> {
  let bytesMax = Math.min(answerBytesMax, sizes.last === undefined ? bytesFirst : 2 * sizes.last);
  for (;;) {
    await memory.admit(Math.max(bytesMin, bytesMax));
    try {
      const rows = await reader.search(statement, { ...options, bytesMax: Math.max(bytesMin, bytesMax) });
      sizes.last = bytesOf(rows);
      return rows;
    } catch (error) {
      if (!(error instanceof AnswerTooLarge) || bytesMax >= answerBytesMax) throw error;
      bytesMax = Math.min(answerBytesMax, Math.max(bytesFirst, bytesMax) * growth);
    }
  }
}

/** What rows take in memory, as engines count it. */
export function bytesOf(rows: readonly Tuple[]): number {
  return rows.reduce((bytes, row) => bytes + bytesOfTuple(row), 0);
}

/** Returns the members of a page that follow from its rows. */
async function pageOf(reader: Reader, list: BoundList, rows: readonly Tuple[]): Promise<ListPage> {
  const { plan, paging, sealer } = list;
  const { page, perPage, skipTotal } = paging;
  if (sealer !== undefined && paging.cursor !== undefined) {
    const last = rows[perPage - 1];
    const nextCursor =
      rows.length > perPage && last !== undefined ? sealCursor(last, plan.select.terms, sealer) : null;
    return { page, perPage, totalItems: -1, totalPages: -1, nextCursor };
  }
  if (skipTotal) return { page, perPage, totalItems: -1, totalPages: -1 };
  const totalItems = await totalOf(reader, list, rows);
  return { page, perPage, totalItems, totalPages: Math.ceil(totalItems / perPage) };
}

/** Returns the total, for which a page counts all rows if it is full. An empty page beyond the last one does not reveal it. */
async function totalOf(
  reader: Reader,
  { plan, values, paging: { page, perPage } }: BoundList,
  rows: readonly Tuple[],
): Promise<number> {
  const counted = rows[0]?.at(-1);
  if (typeof counted === 'number' && rows.length === perPage) return counted;
  const isLast = rows.length > 0 ? rows.length < perPage : page === 1;
  if (isLast) return (page - 1) * perPage + rows.length;
  const [row] = await reader.search(bindSlots(plan.count, values), { isQuick: plan.select.isQuick });
  return Number(row?.[0] ?? 0);
}

/** Texts are joined up to this length: each by itself would be a write to the connection. */
const joinedLengthMax = 64 * 1024;

/** Returns the envelope of a list with the JSON texts of its items: as one text or, if it is long, as several. */
export function listTexts(page: ListPage, items: readonly string[]): readonly string[] {
  const texts: string[] = [];
  let joined = '{"items":[';
  let separator = '';
  for (const item of items) {
    if (joined.length + item.length > joinedLengthMax) {
      texts.push(joined);
      joined = '';
    }
    joined += separator + item;
    separator = ',';
  }
  texts.push(joined + listEnd(page));
  return texts;
}

function listEnd({ page, perPage, totalItems, totalPages, nextCursor }: ListPage): string {
  if (nextCursor !== undefined) return `],"perPage":${perPage},"nextCursor":${JSON.stringify(nextCursor)}}`;
  return `],"page":${page},"perPage":${perPage},"totalItems":${totalItems},"totalPages":${totalPages}}`;
}
