import { AppError } from '../base/errors.ts';
import type { SlotValue } from '../sql/slot.ts';
import { bindSlots } from '../sql/sql.ts';
import { answerBytesMax, answerTooLarge, type Reader, type Tuple } from '../storage/database.ts';
import type { ListQuery, Paging } from './list-query.ts';
import { type CursorSealer, type ListSource, sealCursor } from './list-source.ts';
import { cursorPage, type ListColumns, type ListPlan, planList } from './plan.ts';
import type { RowJsonCache, RowKind } from './row-cache.ts';

/** A plan with what one request gives for it. */
export interface BoundList {
  readonly plan: ListPlan;
  /** The values for the plan's slots. */
  readonly values: readonly SlotValue[];
  readonly paging: Paging;
  /** Undefined where a list is read by pages only. */
  readonly sealer?: CursorSealer;
}

/** A page of a list: the selected rows, or what was made of each. */
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
  const { page, perPage, cursor } = query;
  const offset = cursor === undefined ? (page - 1) * perPage : undefined;
  const plan = planList({ ...query, offset }, source, { rows: source.columns });
  const { sealer } = source;
  return runRows(reader, { plan, values: [], paging: query, ...(sealer && { sealer }) });
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
 * known, only the versions are read.
 */
export async function runJson(
  reader: Reader,
  list: BoundList,
  { kind, texts }: { readonly kind: RowKind; readonly texts: RowJsonCache },
): Promise<ListResult<string>> {
  let rows: readonly Tuple[] = kind.isFilled ? await readRows(reader, list, 'versions') : [];
  let found = kind.isFilled ? texts.find(kind, rows) : undefined;
  if (found === undefined) {
    rows = await readRows(reader, list, 'rows');
    found = texts.keep(kind, rows);
  }
  const items = found.slice(0, list.paging.perPage);
  let length = 0;
  for (const text of items) length += text.length;
  if (length > answerBytesMax) throw answerTooLarge();
  return { items, ...(await pageOf(reader, list, rows)) };
}

function readRows(
  reader: Reader,
  { plan, values, paging, sealer }: BoundList,
  what: keyof ListColumns,
): Promise<Tuple[]> {
  const { rows, versions = rows } = plan.page ?? plan.columns;
  const selected = what === 'rows' ? rows : versions;
  const { cursor } = paging;
  if (cursor !== undefined && sealer === undefined)
    throw new AppError('bad_request', 'This list has no cursors.');
  const statement =
    cursor === undefined || sealer === undefined ? selected : cursorPage(plan, selected, { cursor, sealer });
  return reader.search(bindSlots(statement, values), { isQuick: plan.select.isQuick });
}

/** Returns what the rows of a page tell about the list. */
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

/** Returns the total, for which a page counts all rows if it is full. An empty page beyond the last one does not tell it. */
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

/** Returns the envelope of a list with the JSON texts of its items. */
export function listJson(page: ListPage, items: readonly string[]): string {
  return `{"items":[${items.join(',')}${listEnd(page)}`;
}

function listEnd({ page, perPage, totalItems, totalPages, nextCursor }: ListPage): string {
  if (nextCursor !== undefined) return `],"perPage":${perPage},"nextCursor":${JSON.stringify(nextCursor)}}`;
  return `],"page":${page},"perPage":${perPage},"totalItems":${totalItems},"totalPages":${totalPages}}`;
}
