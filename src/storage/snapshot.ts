import type { Sql } from '../sql/sql.ts';
import type { Reader, Tuple } from './database.ts';

/** Reads data as it was at one moment. */
export interface Snapshot extends Reader {
  /** Reads any number of rows, in pieces of about {@link pieceBytes} or of one row that is larger. The event loop turns between them. */
  scan(statement: Sql): AsyncIterable<readonly Tuple[]>;
}

/** An instance as it was at one moment. */
export interface InstanceSnapshot {
  readonly data: Snapshot;
  /** The log of its requests, of about that moment where it is in another file; undefined where it has none yet. */
  readonly logs: Snapshot | undefined;
}

/** What the rows of a piece take in memory, about. */
export const pieceBytes = 1024 * 1024;
