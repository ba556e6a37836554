import { sql, type Sql } from '../../sql/sql.ts';
import type { Database, Row, SearchOptions, Transaction, Tuple, WriteOptions } from '../database.ts';
import { isMissingName, OutdatedDefinitions } from '../engine-errors.ts';
import type { LogState } from './log-mark.ts';
import { SqliteConnection, type Synchronous } from './sqlite-connection.ts';
import { dataVersion, type SqliteDefinitions } from './sqlite-definitions.ts';
import { sqliteNames } from './sqlite-names.ts';
import { WriteQueue } from './write-queue.ts';

export interface SqliteOptions {
  readonly path: string;
  /** `NORMAL` may lose acknowledged writes on power loss: only for data that nobody relies on, as request logs. */
  readonly synchronous?: Synchronous;
  readonly queryTimeoutMs?: number;
  /** For a file whose definitions this process keeps in memory. */
  readonly definitions?: SqliteDefinitions;
}

export interface SqliteFile extends Database {
  /** How much is in the write-ahead log. Called outside of any work. */
  logState(): LogState;
}

/** Opens one file as a {@link Database}: a writer that groups its commits, and a reader that never sees an open group. */
export function openSqlite(options: SqliteOptions): SqliteFile {
  return new SqliteDatabase(options);
}

const BEGIN = sql`BEGIN`;
const COMMIT = sql`COMMIT`;
/** Checkpoints nothing: it only says what is in the log. */
const LOG_STATE = sql`PRAGMA wal_checkpoint(NOOP)`;

class SqliteDatabase implements SqliteFile {
  readonly engine = 'sqlite';
  readonly names = sqliteNames;
  readonly #options: SqliteOptions;
  readonly #queue: WriteQueue;
  #reader: SqliteConnection;
  #isViewing = false;
  /** Whether the view outlives its turn: what was committed since is not on the disk yet. */
  #isHeld = false;
  readonly #state = new SqliteState();
  readonly #endViewLater = (): void => {
    if (!this.#isHeld) this.#endView();
  };

  constructor(options: SqliteOptions) {
    this.#options = options;
    this.#queue = new WriteQueue({
      open: () => this.#open(false),
      onReopen: () => this.#reopenReader(),
      endView: () => this.#endView(),
      holdView: () => this.#holdView(),
      ...(options.definitions !== undefined && {
        isOutdated: (writer) => options.definitions?.isOutdated(writer) === true,
        refresh: async () => void (await options.definitions?.refresh(this)),
      }),
    });
    this.#reader = this.#openReader();
  }

  all(statement: Sql): Promise<Row[]> {
    return this.#read((connection) => connection.all(statement));
  }

  get(statement: Sql): Promise<Row | undefined> {
    return this.#read((connection) => connection.get(statement));
  }

  tuples(statement: Sql): Promise<Tuple[]> {
    return this.#read((connection) => connection.tuples(statement));
  }

  search(statement: Sql, { spentMs }: SearchOptions = {}): Promise<Tuple[]> {
    return this.#read((connection) => connection.search(statement, spentMs));
  }

  state(): object {
    return this.#state.now(this.#view());
  }

  logState(): LogState {
    this.#endView();
    const row = this.#reader.get(LOG_STATE);
    return { pages: Number(row?.['log']), copied: Number(row?.['checkpointed']) };
  }

  write<Result>(work: (tx: Transaction) => Promise<Result>, options: WriteOptions = {}): Promise<Result> {
    const { definitions } = this.#options;
    if (definitions === undefined || options.isExclusive !== true) return this.#queue.add(work, options);
    return this.#queue.add(async (tx) => {
      const result = await work(tx);
      await definitions.announce(tx);
      return result;
    }, options);
  }

  async stop(): Promise<void> {
    await this.#queue.drain();
    this.#options.definitions?.end();
    this.#endView();
    this.#reader.close();
    this.#queue.close();
  }

  async #read<Result>(ask: (connection: SqliteConnection) => Result): Promise<Result> {
    try {
      return ask(this.#view());
    } catch (error) {
      const { definitions } = this.#options;
      const isOutdated = isMissingName(error) && (await definitions?.refresh(this)) === true;
      throw isOutdated ? new OutdatedDefinitions(error) : error;
    }
  }

  #open(isReadOnly: boolean): SqliteConnection {
    const { queryTimeoutMs } = this.#options;
    return new SqliteConnection(this.#options.path, {
      isReadOnly,
      synchronous: this.#options.synchronous ?? 'FULL',
      ...(queryTimeoutMs !== undefined && { queryTimeoutMs }),
    });
  }

  /**
   * Begins a read transaction that all reads of one turn of the event loop share: taking and releasing the file's locks costs as much
   * as reading a row. It ends with the turn and when a group of writes is on the disk, so that no read sees an old state.
   */
  #view(): SqliteConnection {
    if (!this.#isViewing) {
      this.#reader.run(BEGIN);
      this.#isViewing = true;
      setImmediate(this.#endViewLater);
    }
    return this.#reader;
  }

  /** Begins a view of what is on the disk, which all reads share until a commit is there, too. */
  #holdView(): void {
    this.#endView();
    this.#state.now(this.#view());
    this.#isHeld = true;
  }

  #endView(): void {
    this.#isHeld = false;
    if (!this.#isViewing) return;
    this.#isViewing = false;
    this.#state.endView();
    try {
      this.#reader.run(COMMIT);
    } catch {
      // A medium that fails ends the transaction by itself. Nobody could catch the error here; if it persists, the next read fails.
    }
  }

  /** Closes the writer on failure: the constructor then throws, so nobody can call `stop`. */
  #openReader(): SqliteConnection {
    try {
      return this.#open(true);
    } catch (error) {
      this.#queue.close();
      throw error;
    }
  }

  /** Opens the new reader before it closes the old one: if that fails, there still is a reader, to be replaced at the next try. */
  #reopenReader(): void {
    const reader = this.#open(true);
    this.#isViewing = false;
    this.#isHeld = false;
    this.#reader.close();
    this.#reader = reader;
    this.#state.forget();
  }
}

/** The version of the SQLite inside this Node, as `[major, minor, patch]`. */
export function sqliteVersion(): readonly [number, number, number] {
  const connection = new SqliteConnection(':memory:', { isReadOnly: false, synchronous: 'FULL' });
  const text = String(connection.get(sql`SELECT sqlite_version() AS version`)?.['version']);
  connection.close();
  const [major = 0, minor = 0, patch = 0] = text.split('.').map(Number);
  return [major, minor, patch];
}

/** An object that stands for the committed state that the reader's connection sees: the same object for as long as that is the same. */
export class SqliteState {
  #state = {};
  #version: unknown;
  /** Whether the version was read in the open view, within which it cannot change. */
  #hasLooked = false;

  now(reader: SqliteConnection): object {
    const version = this.#hasLooked ? this.#version : dataVersion(reader);
    this.#hasLooked = true;
    if (version !== this.#version) this.#state = {};
    this.#version = version;
    return this.#state;
  }

  endView(): void {
    this.#hasLooked = false;
  }

  /** Called when the reader is reopened: versions of different connections cannot be compared. */
  forget(): void {
    this.#version = undefined;
    this.#hasLooked = false;
  }
}
