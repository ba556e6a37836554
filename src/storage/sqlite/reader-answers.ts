import { systemClock } from '../../base/clock.ts';
import { bytesOfTuple, type Tuple } from '../database.ts';
import type { FromReader, ReaderFile, ReaderSearch, ToReader } from './reader-thread.ts';
import { inodeOf, SqliteConnection } from './sqlite-connection.ts';
import { toFailure } from './thread-failure.ts';

/** Each open file takes three descriptors and up to 16 MiB. */
const filesMax = 4;

export type RunSearch = (connection: SqliteConnection, search: ReaderSearch) => Tuple[];

export const runSearch: RunSearch = (connection, { statement, spentMs, bytesMax }) =>
  connection.search(statement, { spentMs, bytesMax });

/** Answers what is asked of a reader, in its thread or process. It has connections of its own, which can only read. */
export class ReaderAnswers {
  readonly #run: RunSearch;
  /** By the number of the file, least recently used first. */
  readonly #connections = new Map<number, SqliteConnection>();
  /** What is left to be sent of the last search. */
  #remaining = { pieces: new RowPieces([]), tookMs: 0 };

  constructor(run: RunSearch = runSearch) {
    this.#run = run;
  }

  answer(message: ToReader): FromReader {
    if (message.kind === 'more') return this.#nextPiece();
    if (message.kind === 'close') {
      this.#close(message.fileNumber);
      return { kind: 'closed' };
    }
    try {
      return this.#search(message.search);
    } catch (error) {
      return toFailure(error);
    }
  }

  #search(search: ReaderSearch): FromReader {
    const { file, timeoutMs } = search;
    const connection = this.#connections.get(file.number) ?? this.#open(file, timeoutMs);
    if (connection === undefined) return { kind: 'replaced', path: file.path };
    this.#connections.delete(file.number);
    this.#connections.set(file.number, connection);
    const startMs = systemClock.monotonic();
    const rows = this.#run(connection, search);
    this.#remaining = { pieces: new RowPieces(rows), tookMs: systemClock.monotonic() - startMs };
    return this.#nextPiece();
  }

  #nextPiece(): FromReader {
    const { pieces, tookMs } = this.#remaining;
    const piece = pieces.next();
    if (piece.isLast) this.#remaining = { pieces: new RowPieces([]), tookMs: 0 };
    return { kind: 'rows', ...piece, tookMs };
  }

  /** Returns undefined when another file is in its place: it may be another instance's. */
  #open({ path, inode }: ReaderFile, queryTimeoutMs: number): SqliteConnection | undefined {
    const [oldest] = this.#connections.keys();
    if (this.#connections.size === filesMax && oldest !== undefined) this.#close(oldest);
    const connection = new SqliteConnection(path, { isReadOnly: true, synchronous: 'FULL', queryTimeoutMs });
    if (inodeOf(path) === inode) return connection;
    connection.close();
    return undefined;
  }

  #close(fileNumber: number): void {
    this.#connections.get(fileNumber)?.close();
    this.#connections.delete(fileNumber);
  }
}

/** A message of so many characters and bytes, or of so many rows, is received in less than 10 ms. */
const sizeMax = 256 * 1024;
const rowsMax = 1_000;

/** The rows of a search, to be sent from one thread to another a piece at a time: a message is received in one go, while all else waits. */
export class RowPieces {
  readonly #rows: readonly Tuple[];
  #at = 0;

  constructor(rows: readonly Tuple[]) {
    this.#rows = rows;
  }

  /** Returns the next rows, one at least where there is one, and whether they are the last. */
  next(): { readonly rows: readonly Tuple[]; readonly isLast: boolean } {
    const from = this.#at;
    let size = 0;
    do {
      size += bytesOfTuple(this.#rows[this.#at] ?? []);
      this.#at += 1;
    } while (this.#at < this.#rows.length && this.#at - from < rowsMax && size < sizeMax);
    return { rows: this.#rows.slice(from, this.#at), isLast: this.#at >= this.#rows.length };
  }
}
