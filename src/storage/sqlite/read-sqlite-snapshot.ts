import { existsSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql, type Sql } from '../../sql/sql.ts';
import { bytesOfTuple, type Tuple } from '../database.ts';
import { type InstanceSnapshot, pieceBytes, type Snapshot } from '../snapshot.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { sqliteNames } from './sqlite-names.ts';

/** Rows that are read without the event loop turning: few milliseconds, also where they are short. */
const pieceRowsMax = 1_000;

/**
 * Reads the files of an instance over connections of their own, each in a transaction that sees the file as it was when it began. Writers go
 * on; the write-ahead log grows meanwhile, as it cannot begin anew.
 */
export async function readSqliteSnapshot<Result>(
  { data, logs }: { readonly data: string; readonly logs: string },
  work: (snapshot: InstanceSnapshot) => Promise<Result>,
): Promise<Result> {
  const files = [data, ...(existsSync(logs) ? [logs] : [])];
  const connections: SqliteConnection[] = [];
  try {
    for (const file of files) connections.push(beginIn(file));
    const [ofData, ofLogs] = connections;
    if (ofData === undefined) throw new Error('the data has a connection');
    return await work({ data: snapshotOf(ofData), logs: ofLogs && snapshotOf(ofLogs) });
  } finally {
    for (const connection of connections) connection.close();
  }
}

function beginIn(path: string): SqliteConnection {
  const connection = new SqliteConnection(path, { isReadOnly: true, synchronous: 'FULL' });
  connection.get(sql`BEGIN`);
  // The first read decides what it sees.
  connection.get(sql`SELECT 1 FROM sqlite_schema`);
  return connection;
}

function snapshotOf(connection: SqliteConnection): Snapshot {
  return {
    names: sqliteNames,
    all: (statement) => Promise.resolve(connection.all(statement)),
    get: (statement) => Promise.resolve(connection.get(statement)),
    tuples: (statement) => Promise.resolve(connection.tuples(statement)),
    search: (statement) => Promise.resolve(connection.tuples(statement)),
    scan: (statement) => scan(connection, statement),
  };
}

async function* scan(connection: SqliteConnection, statement: Sql): AsyncGenerator<readonly Tuple[]> {
  let piece: Tuple[] = [];
  let bytes = 0;
  for (const row of connection.scan(statement)) {
    piece.push(row);
    bytes += bytesOfTuple(row);
    if (bytes < pieceBytes && piece.length < pieceRowsMax) continue;
    yield piece;
    piece = [];
    bytes = 0;
    await nextTurn();
  }
  if (piece.length > 0) yield piece;
}
