/** The thread in which works that take long run their statements, on a connection of its own. */

import { parentPort } from 'node:worker_threads';
import { assert } from '../../base/assert.ts';
import { toFailure } from './thread-failure.ts';
import { inodeOf, SqliteConnection } from './sqlite-connection.ts';
import type { FromWriter, ToWriter } from './writer-thread.ts';

assert(parentPort !== null, 'writer-worker.ts runs as a worker thread only');
const port = parentPort;

let connection: SqliteConnection | undefined;
/** Questions are answered in their order, although a sync lets this thread go on. */
let answered: Promise<void> = Promise.resolve();

// Only writer-thread.ts holds the other end of the port.
port.on('message', (message: ToWriter) => {
  answered = answered.then(async () => port.postMessage(await answerOf(message)));
});

async function answerOf(message: ToWriter): Promise<FromWriter> {
  try {
    if (message.kind !== 'open') return { kind: 'done', result: await run(live(), message) };
    const { path, inode, synchronous, queryTimeoutMs } = message.file;
    connection = new SqliteConnection(path, { isReadOnly: false, synchronous, queryTimeoutMs });
    // Another file in its place may be another instance's.
    return inodeOf(path) === inode ? { kind: 'done', result: undefined } : { kind: 'replaced', path };
  } catch (error) {
    return toFailure(error);
  }
}

function live(): SqliteConnection {
  assert(connection, 'the file is open');
  return connection;
}

function run(open: SqliteConnection, message: Exclude<ToWriter, { readonly kind: 'open' }>): unknown {
  switch (message.kind) {
    case 'search':
      return open.search(message.statement, message.options);
    case 'insert':
      return open.insertRows(message.into, message.rows);
    case 'sync':
      return open.syncLog();
    case 'copy log':
      return open.copyLongLog();
    case 'close':
      connection = undefined;
      return open.close();
    default:
      return open[message.kind](message.statement);
  }
}
