import { partsBySize } from '../base/process.ts';
import { identifier, joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Database, InlineColumn, InlineKind, Reader, Tuple } from '../storage/database.ts';

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

/** Rows of which the sizes are read at once. */
const rowsMax = 2_000;
/** The size of a batch, or a single row where that is larger. With a row of a few megabytes, some hundred megabytes of memory are taken. */
const batchBytesMax = 2 * 1024 * 1024;

/** Copies all rows as they are, positions included, in batches of one transaction each. Resolves to their number. */
export async function copyTable(copy: TableCopy): Promise<CopiedTable> {
  const columns = await readTableColumns(copy.source, copy.table);
  const insert = insertOf(copy, columns);
  const keyAt = columns.key.map((name) => columns.all.findIndex((column) => column.name === name));
  let last: Tuple | undefined;
  let count = 0;
  for (;;) {
    const sizes = await readSizes(copy, columns, last);
    if (sizes.length === 0) return { count, position: columns.position };
    for (const { length } of partsBySize(sizes, (bytes) => bytes, batchBytesMax)) {
      const rows = await readRows(copy, columns, { after: last, limit: length });
      const end = rows.at(-1);
      // Another process has deleted them meanwhile, which the counts will show.
      if (end === undefined) break;
      await copy.target.write((tx) => tx.run(insert(rows)));
      last = keyAt.map((at) => end[at] ?? null);
      count += rows.length;
      copy.onRows(count);
    }
  }
}

/** Reads the sizes of the next rows. SQLite knows them without reading the values. */
async function readSizes(
  { source, table }: TableCopy,
  { all, key }: TableColumns,
  after: Tuple | undefined,
): Promise<readonly number[]> {
  const sizes = all.map(({ name, kind }) =>
    kind === 'number' ? sql`8` : sql`octet_length(${identifier(name)})`,
  );
  const rows = await source.tuples(
    sql`SELECT ${joinSql(sizes, ', ')} FROM ${identifier(table)}${behind(key, after)} LIMIT ${rowsMax}`,
  );
  return rows.map((row) => row.reduce<number>((sum, size) => sum + Number(size), 0));
}

interface Range {
  /** The key of the row before the first; undefined at the beginning. */
  readonly after: Tuple | undefined;
  readonly limit: number;
}

function readRows(
  { source, table }: TableCopy,
  { all, key }: TableColumns,
  { after, limit }: Range,
): Promise<readonly Tuple[]> {
  const names = joinSql(
    all.map(({ name }) => identifier(name)),
    ', ',
  );
  return source.tuples(sql`SELECT ${names} FROM ${identifier(table)}${behind(key, after)} LIMIT ${limit}`);
}

/** The rows behind this key, or all, in the order of their keys. */
function behind(key: readonly string[], after: Tuple | undefined): Sql {
  const keys = joinSql(key.map(identifier), ', ');
  if (after === undefined) return sql` ORDER BY ${keys}`;
  return sql` WHERE (${keys}) > (${joinSql(after.map(toValue), ', ')}) ORDER BY ${keys}`;
}

function toValue(value: Tuple[number]): Sql {
  return sql`${value}`;
}

type InsertRows = (rows: readonly Tuple[]) => Sql;

function insertOf({ target, into, isScoped }: TableCopy, { all, position }: TableColumns): InsertRows {
  // Numbered, because names that are long differ only behind the characters that PostgreSQL keeps.
  const inlineColumns = all.map(({ kind }, at): InlineColumn => [`c${at}`, kind]);
  const columns = joinSql(
    all.map(({ name }) => target.names.column(name)),
    ', ',
  );
  const values = joinSql(
    inlineColumns.map(([name]) => sql`given.${identifier(name)}`),
    ', ',
  );
  const { names } = target;
  const [scopeColumn, scopeValue] = isScoped ? [names.instance.column, names.instance.value] : [sql``, sql``];
  const overriding = position === undefined ? sql`` : sql` OVERRIDING SYSTEM VALUE`;
  return (rows) => sql`
    INSERT INTO ${into} (${scopeColumn}${columns})${overriding}
    SELECT ${scopeValue}${values} FROM ${names.valuesTable(inlineColumns, rows)}`;
}

/** The stored columns of a SQLite table. */
interface TableColumns {
  readonly all: readonly TableColumn[];
  /** The primary key in its order: rows are copied in the order of their keys. */
  readonly key: readonly string[];
  /** The column that numbers the rows, if there is one. */
  readonly position: string | undefined;
}

export interface TableColumn {
  readonly name: string;
  readonly kind: InlineKind;
}

/** The names of columns that number the rows of their table. */
const numberNames = ['position', '$position', 'number'];

const kinds: Readonly<Record<string, InlineKind>> = {
  TEXT: 'text',
  INTEGER: 'number',
  REAL: 'number',
  BLOB: 'bytes',
};

/** Reads the columns from the schema itself, so that a column of a later migration is not forgotten. */
async function readTableColumns(source: Reader, table: string): Promise<TableColumns> {
  const rows = await source.all(sql`SELECT name, type, pk FROM pragma_table_info(${table}) ORDER BY pk, cid`);
  const columns = rows.map((row) => ({ name: String(row['name']), kind: kindOf(row['type']) }));
  const key = rows.filter((row) => row['pk'] !== 0).map((row) => String(row['name']));
  const [first] = key;
  const isNumber = key.length === 1 && first !== undefined && numberNames.includes(first);
  const position = isNumber ? first : undefined;
  return { all: columns, key, position };
}

function kindOf(type: unknown): InlineKind {
  const kind = kinds[String(type)];
  if (kind === undefined) throw new Error(`a column has the unknown type ${String(type)}`);
  return kind;
}
