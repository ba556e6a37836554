/**
 * The thread in which bcrypt runs. It is computed in JavaScript and takes a sixteenth of a second or more for each password, for
 * which the main thread would hold up all requests.
 */

import { compareSync } from 'bcryptjs';
import { parentPort } from 'node:worker_threads';
import { assert } from '../base/assert.ts';
import type { BcryptQuestion } from './password.ts';

assert(parentPort !== null, 'bcrypt-worker.ts runs as a worker thread only');
const port = parentPort;
// Only password.ts holds the other end of the port.
port.on('message', ({ password, hash }: BcryptQuestion) => port.postMessage(compareSync(password, hash)));
