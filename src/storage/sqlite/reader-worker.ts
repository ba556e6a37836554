/** The thread in which slow searches run. It has connections of its own, which can only read. */

import { parentPort } from 'node:worker_threads';
import { assert } from '../../base/assert.ts';
import { systemClock } from '../../base/clock.ts';
import { toFailure } from './thread-failure.ts';
import type { FromReader, ReaderFile, ReaderSearch, ToReader } from './reader-thread.ts';
import { RowPieces } from './row-pieces.ts';
import { inodeOf, SqliteConnection } from './sqlite-connection.ts';

assert(parentPort !== null, 'reader-worker.ts runs as a worker thread only');
const port = parentPort;

/** Each open file takes three descriptors and up to 16 MiB. */
const filesMax = 4;

/** By the number of the file, least recently used first. */
const connections = new Map<number, SqliteConnection>();

// Only reader-thread.ts holds the other end of the port.
port.on('message', (message: ToReader) => port.postMessage(answerOf(message)));

/** What is left to be sent of the last search. */
let remaining = { pieces: new RowPieces([]), tookMs: 0 };

function answerOf(message: ToReader): FromReader {
  if (message.kind === 'more') return nextPiece();
  if (message.kind === 'close') {
    close(message.fileNumber);
    return { kind: 'closed' };
  }
  try {
    return search(message.search);
  } catch (error) {
    return toFailure(error);
  }
}

function search({ file, statement, timeoutMs, spentMs, bytesMax }: ReaderSearch): FromReader {
  const connection = connections.get(file.number) ?? open(file, timeoutMs);
  if (connection === undefined) return { kind: 'replaced', path: file.path };
  connections.delete(file.number);
  connections.set(file.number, connection);
  const startMs = systemClock.monotonic();
  const rows = connection.search(statement, { spentMs, bytesMax });
  remaining = { pieces: new RowPieces(rows), tookMs: systemClock.monotonic() - startMs };
  return nextPiece();
}

function nextPiece(): FromReader {
  const { pieces, tookMs } = remaining;
  const piece = pieces.next();
  if (piece.isLast) remaining = { pieces: new RowPieces([]), tookMs: 0 };
  return { kind: 'rows', ...piece, tookMs };
}

/** Returns undefined when another file is in its place: it may be another instance's. */
function open({ path, inode }: ReaderFile, queryTimeoutMs: number): SqliteConnection | undefined {
  const [oldest] = connections.keys();
  if (connections.size === filesMax && oldest !== undefined) close(oldest);
  const connection = new SqliteConnection(path, { isReadOnly: true, synchronous: 'FULL', queryTimeoutMs });
  if (inodeOf(path) === inode) return connection;
  connection.close();
  return undefined;
}

function close(fileNumber: number): void {
  connections.get(fileNumber)?.close();
  connections.delete(fileNumber);
}
