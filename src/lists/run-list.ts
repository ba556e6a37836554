import { AppError } from '../base/errors.ts';
import { compileFilter } from '../filters/compile.ts';
import { compileSort, sortTerms, type SortTerm } from '../filters/compile-sort.ts';
import type { Dialect } from '../filters/dialect.ts';
import type { Operand, Resolve } from '../filters/operand.ts';
import type { FilterTree } from '../filters/tree.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Reader, Tuple } from '../storage/database.ts';
import { afterCursor, cursorColumns, sealCursor, type CursorSealer } from './cursor.ts';
import type { ListQuery } from './list-query.ts';

/** The table a list is of. */
export interface ListSource {
  /** What stands behind SELECT: the columns of the tuples. */
  readonly columns: Sql;
  /** What stands behind FROM. */
  readonly from: Sql;
  /** What must hold beside the filter: the list rule, the owner of the rows. */
  readonly where?: Sql;
  /** The hidden position: unique, never null; the default order and the end of every other. */
  readonly tieBreaker: Operand;
  /** What the names of the order mean, and without a scope those of the filter. */
  readonly resolve: Resolve;
  /** Of a table whose conditions may need others beside it. */
  readonly scope?: ListScope;
  readonly dialect: Dialect;
  /** Undefined where a list is read by pages only. */
  readonly cursors?: CursorSealer;
  /** For the macros, in milliseconds since 1970. */
  readonly now: number;
}

/** Collects the conditions on a table's rows, and what has to be joined for them. */
export interface ListScope {
  /** All conditions, the client's filter among them. To be asked once. Throws a filter error. */
  conditionWith(filter: FilterTree | undefined): Sql | undefined;
  /** What stands behind the table: empty, or with a blank before it. To be asked when everything was resolved. */
  joins(): Sql;
}

export interface ListResult {
  readonly items: readonly Tuple[];
  readonly page: number;
  readonly perPage: number;
  /** -1 when it was not asked for. */
  readonly totalItems: number;
  readonly totalPages: number;
  /** Of a list that is read by cursors: the next one, null at the end. */
  readonly nextCursor?: string | null;
}

/** One statement; two where the number of rows cannot be told from the page itself. Throws AppError `bad_request`. */
export async function runList(reader: Reader, query: ListQuery, source: ListSource): Promise<ListResult> {
  const terms = sortTerms(query.sort, source);
  const where = conditionsOf(query, source);
  const order = compileSort(terms, source.dialect);
  const from = source.scope === undefined ? source.from : sql`${source.from}${source.scope.joins()}`;
  const select: Select = { from, where, order, ask: searching(reader, where, query) };
  if (query.cursor !== undefined)
    return runFromCursor({ query, cursor: query.cursor }, { source, terms, select });
  const { page, perPage, skipTotal } = query;
  const offset = (page - 1) * perPage;
  // One row more than the page has tells whether it is the last one.
  const limit = skipTotal ? perPage : perPage + 1;
  const rows = await select.ask(
    sql`SELECT ${source.columns} FROM ${from}${whereAll(where)} ORDER BY ${order} LIMIT ${limit} OFFSET ${offset}`,
  );
  const items = rows.length > perPage ? rows.slice(0, perPage) : rows;
  if (skipTotal) return { items, page, perPage, totalItems: -1, totalPages: -1 };
  const isLastPage = rows.length <= perPage && (rows.length > 0 || page === 1);
  const totalItems = isLastPage ? offset + rows.length : await countRows(select);
  return { items, page, perPage, totalItems, totalPages: Math.ceil(totalItems / perPage) };
}

/** A page in the order of the table is found without a search. */
function searching(
  reader: Reader,
  where: readonly Sql[],
  { sort }: ListQuery,
): (statement: Sql) => Promise<Tuple[]> {
  const isSearch = where.length > 0 || sort.length > 0;
  return (statement) => (isSearch ? reader.search(statement) : reader.tuples(statement));
}

interface Select {
  readonly from: Sql;
  readonly where: readonly Sql[];
  readonly order: Sql;
  readonly ask: (statement: Sql) => Promise<Tuple[]>;
}

/** A deep page costs what the first one does: it begins where an index finds the cursor, and nothing is counted. */
async function runFromCursor(
  { query, cursor }: { readonly query: ListQuery; readonly cursor: string },
  {
    source,
    terms,
    select,
  }: { readonly source: ListSource; readonly terms: readonly SortTerm[]; readonly select: Select },
): Promise<ListResult> {
  const { cursors: sealer, dialect } = source;
  if (sealer === undefined) throw new AppError('bad_request', 'This list has no cursors.');
  const columns = joinSql([source.columns, ...cursorColumns(terms)], ', ');
  const after = afterCursor(cursor, terms, { sealer, dialect });
  const where = after === undefined ? select.where : [...select.where, after];
  const { page, perPage } = query;
  const rows = await select.ask(
    sql`SELECT ${columns} FROM ${select.from}${whereAll(where)} ORDER BY ${select.order} LIMIT ${perPage + 1}`,
  );
  const last = rows[perPage - 1];
  const nextCursor = rows.length > perPage && last !== undefined ? sealCursor(last, terms, sealer) : null;
  const items = rows.slice(0, perPage).map((tuple) => tuple.slice(0, -terms.length));
  return { items, page, perPage, totalItems: -1, totalPages: -1, nextCursor };
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

function whereAll(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? sql`` : sql` WHERE ${joinSql(conditions, ' AND ')}`;
}

async function countRows({ from, where, ask }: Select): Promise<number> {
  const [row] = await ask(sql`SELECT count(*) FROM ${from}${whereAll(where)}`);
  return Number(row?.[0] ?? 0);
}
