import { rmSync, statSync } from 'node:fs';
import { constants as copying, copyFile, lstat, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { codeOf } from '../../base/process.ts';
import { AppError } from '../../base/errors.ts';
import { identifier, joinSql, sql, type Sql } from '../../sql/sql.ts';

export type ForeignValue = string | number | bigint | null | Uint8Array;

/** The longest text or row: a longer one would take more memory than an import may. */
const valueBytesMaxDefault = 256 * 1024 * 1024;

/** How often a file that changes while it is copied is copied again. */
const copiesMax = 3;

/**
 * Another program's SQLite file, for imports. It may be hostile: only real tables are read, column by column, and nothing that its
 * schema would compute (views, triggers, generated columns, virtual tables) is ever run. Neither it nor a file beside it is changed:
 * a file with a write-ahead log, which SQLite would have to open as well, is read from a private copy.
 */
export class ForeignSqlite {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #tables: ReadonlyMap<string, ForeignTable>;
  /** What {@link markOf} said of the file when it was opened; undefined when a copy is read. */
  readonly #mark: string | undefined;

  private constructor(path: string, place: OpenOptions) {
    this.#path = path;
    this.#mark = place.copy === undefined ? markOf(path) : undefined;
    this.#database = openFile(place);
    try {
      this.#tables = readTables(this.#database);
    } catch (error) {
      this.#database.close();
      throw unreadable(path, error);
    }
  }

  /** Throws bad_request when the file is no SQLite database, or is being written to. */
  static async open(
    path: string,
    { valueBytesMax = valueBytesMaxDefault }: { readonly valueBytesMax?: number } = {},
  ): Promise<ForeignSqlite> {
    const place = { ...(await prepare(path)), valueBytesMax };
    try {
      return new ForeignSqlite(path, place);
    } finally {
      // An open file stays readable when it is unlinked, and a process that is killed later leaves no copy of all secrets behind.
      await place.copy?.remove();
    }
  }

  /** The stored columns of a table; undefined when there is no such table, or it is a view or a virtual one. */
  columnsOf(table: string): readonly string[] | undefined {
    return this.#tables.get(table)?.columns;
  }

  count(table: string): number {
    this.#tableOf(table, []);
    for (const [count] of this.#select(sql`SELECT count(*) FROM ${identifier(table)}`)) return Number(count);
    return 0;
  }

  /** The rows of a table in the order of their creation, with these of its columns (see {@link columnsOf}). */
  rows(table: string, columns: readonly string[]): Iterable<readonly ForeignValue[]> {
    const definition = this.#tableOf(table, columns);
    const names = joinSql(columns.map(identifier), ', ');
    return this.#select(
      sql`SELECT ${names} FROM ${identifier(table)}${definition.hasRowId ? sql` ORDER BY _rowid_` : sql``}`,
    );
  }

  /**
   * Yields the lowest id of each group of rows that agree in all `keys`. Rows whose id is no text are left out, as they are no
   * records. Where no index of the file helps, SQLite sorts the rows, in temporary files if they are many.
   */
  equalRows(table: string, { columns, keys, where }: EqualRows): Iterable<readonly ForeignValue[]> {
    this.#tableOf(table, ['id', ...columns]);
    const conditions = joinSql([sql`typeof(id) = 'text' AND id <> ''`, ...where], ' AND ');
    return this.#select(
      sql`SELECT min(id) FROM ${identifier(table)} WHERE ${conditions} GROUP BY ${joinSql(keys, ', ')} HAVING count(*) > 1`,
    );
  }

  /** Throws when the file has been written to since it was opened: the rows that were read may be inconsistent. */
  requireUnchanged(): void {
    if (this.#mark !== undefined && this.#mark !== markOf(this.#path)) throw inUse(this.#path);
  }

  close(): void {
    this.#database.close();
  }

  /** Throws bad_request for all but stored columns of real tables: a view or a computed column of a crafted file must not run. */
  #tableOf(table: string, columns: readonly string[]): ForeignTable {
    const definition = this.#tables.get(table);
    const missing = columns.filter((column) => definition?.columns.includes(column) !== true);
    if (definition !== undefined && missing.length === 0) return definition;
    const what =
      definition === undefined ? 'no' : `no ${missing.map((name) => JSON.stringify(name)).join(', ')} in its`;
    throw new AppError('bad_request', `${this.#path} has ${what} table ${JSON.stringify(table)}.`);
  }

  *#select(statement: Sql): Generator<readonly ForeignValue[]> {
    try {
      const prepared = this.#database.prepare(statement.text);
      prepared.setReturnArrays(true);
      // A number beyond 2^53 would otherwise be an error.
      prepared.setReadBigInts(true);
      // The mode set above makes rows arrays; the types of node:sqlite do not follow it.
      yield* prepared.iterate(...statement.values) as Iterable<unknown> as Iterable<readonly ForeignValue[]>;
    } catch (error) {
      throw unreadable(this.#path, error);
    }
  }
}

export interface EqualRows {
  /** The columns that `keys` and `where` refer to. */
  readonly columns: readonly string[];
  readonly keys: readonly Sql[];
  readonly where: readonly Sql[];
}

interface ForeignTable {
  readonly columns: readonly string[];
  readonly hasRowId: boolean;
}

interface SourceFile {
  readonly path: string;
  /** The private copy, if there is one: its file is `path`. */
  readonly copy: Copy | undefined;
}

/** A folder that goes with the process if that is ended by a signal. */
interface Copy {
  readonly remove: () => Promise<void>;
}

interface OpenOptions extends SourceFile {
  readonly valueBytesMax: number;
}

async function prepare(path: string): Promise<SourceFile> {
  if (!(await isPresent(path))) throw new AppError('bad_request', `There is no file ${path}.`);
  // SQLite would roll the journal back, which changes the file, and any other file that the journal names.
  if (await isPresent(`${path}-journal`)) throw inUse(path);
  if (!(await isPresent(`${path}-wal`))) return { path, copy: undefined };
  const folder = await mkdtemp(join(tmpdir(), 'chancery-import-'));
  const copy = removable(folder);
  try {
    for (let copies = 1; ; copies += 1) {
      const before = `${markOf(path)} ${markOf(`${path}-wal`)}`;
      for (const end of ['', '-wal'])
        await copyFile(`${path}${end}`, join(folder, `data.db${end}`), copying.COPYFILE_FICLONE);
      if (before === `${markOf(path)} ${markOf(`${path}-wal`)}`)
        return { path: join(folder, 'data.db'), copy };
      if (copies === copiesMax) throw inUse(path);
    }
  } catch (error) {
    await copy.remove();
    throw error;
  }
}

const ends = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Until it is removed, a signal that ends the process removes the folder: it holds all secrets of the source, or half of them. */
function removable(folder: string): Copy {
  const end = (signal: NodeJS.Signals): void => {
    // Retries, as a file may be created in the folder meanwhile.
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    forget();
    process.kill(process.pid, signal);
  };
  const forget = (): void => ends.forEach((signal) => process.off(signal, end));
  for (const signal of ends) process.on(signal, end);
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true }).finally(forget);
  return { remove };
}

/** True when the file exists and is not empty. Throws when it is no regular file: a link could lead anywhere. */
async function isPresent(path: string): Promise<boolean> {
  const stats = await lstat(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (stats === undefined) return false;
  if (!stats.isFile()) throw new AppError('bad_request', `${path} is no regular file.`);
  return stats.size > 0;
}

/** A text that changes with every write to the file. */
function markOf(path: string): string {
  const { ino, size, mtimeNs } = statSync(path, { bigint: true });
  return `${ino} ${size} ${mtimeNs}`;
}

/** Opens a file without a log as immutable: otherwise SQLite would create lock and index files beside it. */
function openFile({ path, copy, valueBytesMax }: OpenOptions): DatabaseSync {
  const url = pathToFileURL(path);
  if (copy === undefined) url.searchParams.set('immutable', '1');
  try {
    return new DatabaseSync(url, {
      readOnly: true,
      defensive: true,
      allowExtension: false,
      enableDoubleQuotedStringLiterals: false,
      limits: { length: valueBytesMax },
    });
  } catch (error) {
    throw unreadable(path, error);
  }
}

function readTables(database: DatabaseSync): ReadonlyMap<string, ForeignTable> {
  database.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0');
  const tableList = database.prepare(
    `SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table'`,
  );
  // `hidden` marks generated columns, which would be computed when they are read.
  const columns = database.prepare('SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0');
  const names = tableList.all().map(({ name, wr }) => [String(name), wr === 0] as const);
  return new Map(
    names.map(([table, hasRowId]) => [
      table,
      { hasRowId, columns: columns.all(table).map(({ name }) => String(name)) },
    ]),
  );
}

function unreadable(path: string, error: unknown): AppError {
  if (error instanceof AppError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new AppError('bad_request', `${path} cannot be read: ${reason}.`, { cause: error });
}

function inUse(path: string): AppError {
  return new AppError(
    'bad_request',
    `${path} is being written to, or was left in the middle of a write: stop the server that uses it, or use a backup of it.`,
  );
}
