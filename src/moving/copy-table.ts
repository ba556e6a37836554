import { AppError } from '../base/errors.ts';
import { identifier, joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Database, GivenColumn, Reader, Tuple } from '../storage/database.ts';
import { readTableColumns, type TableColumns } from './table-columns.ts';

export interface TableCopy {
  /** A SQLite database, in which the table is called this. */
  readonly source: Reader;
  readonly table: string;
  /** A PostgreSQL database. */
  readonly target: Database;
  /** The same table of the target, which must be empty. */
  readonly into: Sql;
  /** The rows get the target's instance: for internal tables that several instances share. */
  readonly isScoped: boolean;
  /** Called after each batch with the number of rows copied so far. */
  readonly onRows: (count: number) => void;
}

export interface CopiedTable {
  readonly count: number;
  /** The column that numbers the rows, if there is one. */
  readonly position: string | undefined;
}

/** Rows of the first batch; later ones have as many as make {@link batchBytes}. */
const firstRows = 64;
const rowsMax = 2_000;
const batchBytes = 2 * 1024 * 1024;

/** Copies all rows as they are, positions included, in batches of one transaction each. Resolves to their number. */
export async function copyTable(copy: TableCopy): Promise<CopiedTable> {
  const columns = await readTableColumns(copy.source, copy.table);
  const insert = insertOf(copy, columns);
  const keyAt = columns.key.map((name) => columns.all.findIndex((column) => column.name === name));
  let rowsWanted = firstRows;
  let last: Tuple | undefined;
  let count = 0;
  for (;;) {
    const rows = await readRows(copy, columns, { after: last, rowsMax: rowsWanted });
    const end = rows.at(-1);
    if (end === undefined) return { count, position: columns.position };
    await copy.target.write((tx) => tx.run(insert(rows)));
    last = keyAt.map((at) => end[at] ?? null);
    count += rows.length;
    rowsWanted = nextRows(rows);
    copy.onRows(count);
  }
}

interface Range {
  /** The key of the row before the first; undefined at the beginning. */
  readonly after: Tuple | undefined;
  readonly rowsMax: number;
}

/** Reads fewer rows when so many are too large to hold in memory. */
async function readRows(
  { source, table }: TableCopy,
  { all, key }: TableColumns,
  { after, rowsMax: max }: Range,
): Promise<readonly Tuple[]> {
  const keys = joinSql(key.map(identifier), ', ');
  const behind = after === undefined ? sql`` : sql` WHERE (${keys}) > (${joinSql(after.map(toValue), ', ')})`;
  const names = joinSql(
    all.map(({ name }) => identifier(name)),
    ', ',
  );
  for (let limit = max; ; limit = Math.floor(limit / 2)) {
    try {
      return await source.search(
        sql`SELECT ${names} FROM ${identifier(table)}${behind} ORDER BY ${keys} LIMIT ${limit}`,
        { isQuick: true },
      );
    } catch (error) {
      const isTooLarge = error instanceof AppError && error.code === 'bad_request';
      if (!isTooLarge || limit === 1) throw error;
    }
  }
}

function toValue(value: Tuple[number]): Sql {
  return sql`${value}`;
}

type InsertRows = (rows: readonly Tuple[]) => Sql;

function insertOf({ target, into, isScoped }: TableCopy, { all, position }: TableColumns): InsertRows {
  // Numbered, because names that are long differ only behind the characters that PostgreSQL keeps.
  const given = all.map(({ kind }, at): GivenColumn => [`c${at}`, kind]);
  const columns = joinSql(
    all.map(({ name }) => target.names.column(name)),
    ', ',
  );
  const values = joinSql(
    given.map(([name]) => sql`given.${identifier(name)}`),
    ', ',
  );
  const { names } = target;
  const [scopeColumn, scopeValue] = isScoped ? [names.scopeColumn, names.scopeValue] : [sql``, sql``];
  const overriding = position === undefined ? sql`` : sql` OVERRIDING SYSTEM VALUE`;
  return (rows) => sql`
    INSERT INTO ${into} (${scopeColumn}${columns})${overriding}
    SELECT ${scopeValue}${values} FROM ${names.given(given, rows)}`;
}

function nextRows(rows: readonly Tuple[]): number {
  const bytes = rows.reduce((sum, row) => sum + bytesOf(row), 0);
  const wanted = Math.floor((batchBytes * rows.length) / bytes);
  return Math.max(1, Math.min(wanted, rowsMax));
}

/** The approximate size of a row. */
function bytesOf(row: Tuple): number {
  const sizes = row.map((value) =>
    typeof value === 'string' ? value.length : value instanceof Uint8Array ? value.byteLength : 8,
  );
  return sizes.reduce((sum, size) => sum + size, 1);
}
