import { assert } from '../../base/assert.ts';
import { AppError } from '../../base/errors.ts';
import { sql, type Sql } from '../../sql/sql.ts';
import type { Tuple } from '../database.ts';
import { isMissingName, sqliteCode } from '../engine-errors.ts';
import type { ViewDescription, ViewDraft } from '../view-query.ts';
import type { PooledFile, ReaderPool } from './reader-pool.ts';

export interface ViewSearch {
  readonly spentMs?: number;
  readonly bytesMax?: number | undefined;
}

/** The views of one file, as processes read them. */
export class SqliteViews {
  readonly #readers: ReaderPool;
  readonly #timeoutMs: number;
  readonly #open: () => PooledFile | undefined;
  #file: PooledFile | undefined;

  constructor(readers: ReaderPool, timeoutMs: number, open: () => PooledFile | undefined) {
    this.#readers = readers;
    this.#timeoutMs = timeoutMs;
    this.#open = open;
  }

  async describe(draft: ViewDraft): Promise<ViewDescription> {
    const rows = await this.#run(sql``, { described: draft, spentMs: 0 });
    // view-worker.ts has written it.
    return JSON.parse(String(rows[0]?.[0])) as ViewDescription;
  }

  /** Rejects with bad_request where the query itself fails. */
  async search(statement: Sql, { spentMs = 0, bytesMax }: ViewSearch): Promise<Tuple[]> {
    try {
      return await this.#run(statement, { spentMs, bytesMax });
    } catch (error) {
      throw toFailedQuery(error);
    }
  }

  /** The file is opened again by the next search. */
  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    if (file !== undefined) await this.#readers.close(file);
  }

  async #run(
    statement: Sql,
    options: Omit<Parameters<ReaderPool['search']>[1], 'statement' | 'timeoutMs'>,
  ): Promise<Tuple[]> {
    this.#file ??= this.#open();
    assert(this.#file !== undefined, 'a file with views is open');
    const search = { ...options, statement, timeoutMs: this.#timeoutMs };
    return (await this.#readers.search(this.#file, search)).rows;
  }
}

/** Throws where a file has no views: definitions are never in such a file. */
export function viewsOf(views: SqliteViews | undefined): SqliteViews {
  assert(views !== undefined, 'the file has views');
  return views;
}

const SQLITE_ERROR = 1;
const SQLITE_NOMEM = 7;
const SQLITE_MISMATCH = 20;

/** Malformed JSON, a sum that is too large: what only the data show. */
function toFailedQuery(error: unknown): unknown {
  const code = (sqliteCode(error) ?? 0) & 0xff;
  if (isMissingName(error) || !(error instanceof Error)) return error;
  if (code === SQLITE_NOMEM)
    return new AppError('bad_request', 'The query of the view needs too much memory.', { cause: error });
  if (code !== SQLITE_ERROR && code !== SQLITE_MISMATCH) return error;
  return new AppError('bad_request', `The query of the view failed: ${error.message}.`, { cause: error });
}
