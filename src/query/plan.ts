import { compileFilter } from '../filters/compile/compile.ts';
import type { FilterTree } from '../filters/parse.ts';
import { compileSort, type SortKey, type SortTerm, sortTerms } from '../filters/compile/sort.ts';
import type { Slot } from '../sql/slot.ts';
import { joinSql, limit, sql, type Sql } from '../sql/sql.ts';
import { afterCursor, cursorColumns, type CursorSealer, type ListSource } from './list-source.ts';

/** What is planned: the parts of a list that its statements depend on. */
export interface PlannedList {
  readonly filter: FilterTree | undefined;
  readonly sort: readonly SortKey[];
  readonly perPage: number;
  readonly skipTotal: boolean;
  /** How many rows come before the page; undefined where it begins at a cursor. */
  readonly offset: number | Slot | undefined;
}

/** What a list selects of each row. */
export interface ListColumns {
  readonly rows: Sql;
  /** The columns that show whether a cached row is current. */
  readonly versions?: Sql;
}

/** The statements of a list. Where they are kept for other requests, their values are slots. */
export interface ListPlan {
  readonly select: ListSelect;
  readonly columns: ListColumns;
  /** The statements for a numbered page, by their columns; undefined where the page begins at a cursor. */
  readonly page: ListColumns | undefined;
  readonly count: Sql;
  readonly perPage: number;
  readonly dialect: ListSource['dialect'];
  /** What the last rows took in memory, in bytes; a hint for the next. */
  readonly sizes: { last: number | undefined };
  /** How many columns a row has after the selected ones: its position for a cursor, or the total. */
  readonly extraColumns: number;
}

/** What every statement of a list has in common. */
interface ListSelect {
  readonly from: Sql;
  readonly conditions: readonly Sql[];
  readonly terms: readonly SortTerm[];
  readonly order: Sql;
  /** Whether its pages are in the order of the view's query. */
  readonly hasOwnOrder: boolean;
  /** Whether it selects all rows, in the table's own order. */
  readonly isWhole: boolean;
  /** Whether the rows are found without a search. */
  readonly isQuick: boolean;
}

/** Plans a list. Throws AppError `bad_request` for its filter and sort, and broken_rule for the source's rules. */
export function planList(list: PlannedList, source: ListSource, columns: ListColumns): ListPlan {
  const select = selectOf(list, source);
  const { perPage, skipTotal, offset } = list;
  // An engine counts all rows of a table faster than it looks at the time for some of them.
  const counted = select.isWhole ? [] : select.conditions;
  const count = sql`SELECT count(*) FROM ${select.from}${whereAll(counted)}`;
  const sizes = { last: undefined };
  const common = { select, columns, count, perPage, dialect: source.dialect, sizes };
  if (offset === undefined)
    return { ...common, page: undefined, extraColumns: cursorColumns(select.terms).length };
  const pageOf = (selected: Sql): Sql => {
    const order = select.hasOwnOrder ? sql`` : sql` ORDER BY ${select.order}`;
    const rows = sql`SELECT ${selected} FROM ${select.from}${whereAll(select.conditions)}${order}${limit(perPage, offset)}`;
    return skipTotal ? rows : withTotal(rows, count, perPage);
  };
  const { rows, versions } = columns;
  const page = { rows: pageOf(rows), ...(versions !== undefined && { versions: pageOf(versions) }) };
  return { ...common, page, extraColumns: skipTotal ? 0 : 1 };
}

/** Returns a statement that also counts all rows, but only where the page is full and so does not reveal the total. */
function withTotal(rows: Sql, count: Sql, perPage: number): Sql {
  const isFull = sql`(SELECT count(*) FROM page) = ${perPage}`;
  return sql`WITH page AS MATERIALIZED (${rows}) SELECT *, CASE WHEN ${isFull} THEN (${count}) END FROM page`;
}

function selectOf({ filter, sort, offset }: PlannedList, source: ListSource): ListSelect {
  const terms = sortTerms(sort, source);
  const conditions = conditionsOf(filter, source);
  const isWhole = conditions.length === 0 && sort.length === 0;
  // The first page in the table's own order is found without a search, and needs no timeout. Others have rows before them.
  const isQuick = source.isView === undefined && isWhole && (offset === undefined || offset === 0);
  return {
    from: source.scope === undefined ? source.from : sql`${source.from}${source.scope.joins()}`,
    conditions: isQuick || source.isInTime === undefined ? conditions : [source.isInTime, ...conditions],
    terms,
    order: compileSort(terms, source.dialect),
    hasOwnOrder: source.isView === true && sort.length === 0,
    isWhole,
    isQuick,
  };
}

function conditionsOf(filter: FilterTree | undefined, source: ListSource): readonly Sql[] {
  const { where, scope } = source;
  const conditions: Sql[] = [];
  if (where !== undefined) conditions.push(sql`(${where})`);
  if (filter !== undefined && scope === undefined) conditions.push(compileFilter(filter, source));
  const condition = scope?.conditionWith(filter);
  if (condition !== undefined) conditions.push(condition);
  return conditions;
}

/** ` WHERE …`, or nothing. */
export function whereAll(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? sql`` : sql` WHERE ${joinSql(conditions, ' AND ')}`;
}

/**
 * Returns the statement for a page that begins after a cursor: one row more than the page has, each with its place. A deep page costs
 * the first one does, because an index finds where it begins. Throws `bad_request` for a cursor of another list.
 */
export function cursorPage(
  { select, dialect, perPage }: ListPlan,
  columns: Sql,
  { cursor, sealer }: { readonly cursor: string; readonly sealer: CursorSealer },
): Sql {
  const { from, conditions, terms, order } = select;
  const after = afterCursor(cursor, terms, { sealer, dialect });
  const where = whereAll(after === undefined ? conditions : [...conditions, after]);
  return sql`SELECT ${joinSql([columns, ...cursorColumns(terms)], ', ')} FROM ${from}${where} ORDER BY ${order}${limit(perPage + 1)}`;
}
