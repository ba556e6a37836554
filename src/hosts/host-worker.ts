/**
 * The thread of a host: it runs the instances that the front places here. It has no connections of clients; requests and answers are
 * messages (host-messages.ts).
 */

import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../base/assert.ts';
import type { HostSettings } from './host-messages.ts';
import { runHost } from './run-host.ts';

assert(parentPort !== null, 'host-worker.ts runs as a worker thread only');
// Only host-thread.ts starts this file, with these settings.
void runHost(parentPort, workerData as HostSettings);
