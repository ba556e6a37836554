import { setTimeout as pause } from 'node:timers/promises';
import { sql } from '../../sql/sql.ts';
import type { DamageSearch } from '../data-home.ts';
import { faultOf } from '../engine-errors.ts';
import { ReaderThread } from './reader-thread.ts';
import { inodeOf } from './sqlite-connection.ts';

/** A table is looked through without a pause; after it the search rests for so many times as long. */
const restFactor = 9;
const restMsMin = 5;
/** Nothing ends the look at a table: it is a thread's own work. */
const tableMsMax = 24 * 3_600_000;
const problemsMax = 3;

/**
 * Looks through the pages of files, table by table, in a thread of its own, which is idle for most of the time. While it looks at a table
 * the write-ahead log cannot begin anew.
 */
export class PageSearch implements DamageSearch {
  readonly #pathOf: (place: string) => string;
  readonly #ended = new AbortController();
  #thread: ReaderThread | undefined;
  #number = 0;

  constructor(pathOf: (place: string) => string) {
    this.#pathOf = pathOf;
  }

  async find(place: string, { isWhole }: { readonly isWhole: boolean }): Promise<readonly string[]> {
    const path = this.#pathOf(place);
    const inode = inodeOf(path);
    if (inode === undefined || this.#ended.signal.aborted) return [];
    const thread = (this.#thread ??= new ReaderThread());
    this.#number += 1;
    const file = { number: this.#number, path, inode };
    try {
      return await this.#findIn(thread, file, isWhole);
    } catch (error) {
      if (faultOf(error) !== 'damage') throw error;
      return [messageOf(error)];
    } finally {
      await thread.close(file.number);
    }
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#thread?.stop();
  }

  async #findIn(
    thread: ReaderThread,
    file: { readonly number: number; readonly path: string; readonly inode: string },
    isWhole: boolean,
  ): Promise<readonly string[]> {
    const how = { file, timeoutMs: tableMsMax, spentMs: 0 };
    const tables = await thread.search({
      ...how,
      statement: sql`SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0`,
    });
    const problems: string[] = [];
    for (const name of ['sqlite_schema', ...tables.rows.map(([table]) => String(table))]) {
      // The whole check also compares indexes with their tables, which takes several times as long.
      const statement = isWhole
        ? sql`SELECT integrity_check FROM pragma_integrity_check(${name})`
        : sql`SELECT quick_check FROM pragma_quick_check(${name})`;
      const { rows, tookMs } = await thread.search({ ...how, statement });
      problems.push(...rows.map(([result]) => String(result)).filter((result) => result !== 'ok'));
      if (problems.length >= problemsMax) break;
      await pause(Math.max(restMsMin, tookMs * restFactor), undefined, { signal: this.#ended.signal });
    }
    return problems.slice(0, problemsMax);
  }
}

function messageOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error ? cause.message : String(error);
}
