/** Counts what `workerData.query` selects as `waiting` from a database, and posts the number. */
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

// `countWaiting` gives it these.
const { file, query } = workerData as { readonly file: string; readonly query: string };
const database = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
try {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread has no origin.
  parentPort?.postMessage(database.prepare(query).get()?.['waiting']);
} finally {
  database.close();
}
