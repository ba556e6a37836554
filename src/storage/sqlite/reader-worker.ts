/** The thread in which slow searches run. */

import { parentPort } from 'node:worker_threads';
import { assert } from '../../base/assert.ts';
import { ReaderAnswers } from './reader-answers.ts';
import type { ToReader } from './reader-thread.ts';

assert(parentPort !== null, 'reader-worker.ts runs as a worker thread only');
const port = parentPort;
const answers = new ReaderAnswers();

// Only reader-thread.ts holds the other end of the port.
port.on('message', (message: ToReader) => port.postMessage(answers.answer(message)));
