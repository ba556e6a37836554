/** The process in which views are read. It can be killed, which is the only thing that ends any statement of SQLite. */

import { Worker } from 'node:worker_threads';
import { assert } from '../../base/assert.ts';
import { ReaderAnswers, runSearch } from './reader-answers.ts';
import type { ToReader } from './reader-thread.ts';
import { authorizeView, describeDraft, viewHeapBytesMax } from './view-guard.ts';

const send = process.send?.bind(process);
assert(send !== undefined, 'view-worker.ts runs as a process with a channel only');

// Nothing else would end a statement that runs on when the service is gone.
const watch = `const parent = process.ppid;
  setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL'); }, 1000)`;
new Worker(watch, { eval: true }).unref();

const answers = new ReaderAnswers((connection, search) => {
  if (search.described !== undefined) return [[JSON.stringify(describeDraft(search.described))]];
  connection.guard(authorizeView, viewHeapBytesMax);
  return runSearch(connection, search);
});

// Only view-process.ts holds the other end of the channel.
process.on('message', (message: ToReader) => send(answers.answer(message)));
send({ kind: 'closed' });
