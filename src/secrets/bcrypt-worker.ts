/**
 * The thread in which bcrypt runs: it is computed in JavaScript, a sixteenth of a second and more for each password, which on the
 * thread of requests everybody would wait for.
 */
import { compareSync } from 'bcryptjs';
import { parentPort } from 'node:worker_threads';
import { assert } from '../base/assert.ts';
import type { BcryptQuestion } from './verify-bcrypt.ts';

assert(parentPort !== null, 'bcrypt-worker.ts runs as a worker thread only');
const port = parentPort;
// Only verify-bcrypt.ts holds the other end of the port.
port.on('message', ({ password, hash }: BcryptQuestion) => port.postMessage(compareSync(password, hash)));
