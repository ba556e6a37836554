/**
 * The thread of a host: it runs the instances that the front places here. It has no connections of clients; requests and answers are
 * messages (host-messages.ts). The thread that makes backups begins here as well, as it needs the same code.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../base/assert.ts';
import { runTransfers } from '../jobs/run-transfers.ts';
import type { TransferSettings } from '../jobs/transfer-thread.ts';
import type { HostSettings } from './host-messages.ts';
import { runHost } from './run-host.ts';

assert(parentPort !== null, 'host-worker.ts runs as a worker thread only');
// Only host-thread.ts and transfer-thread.ts start this file, each with its own settings.
const settings = workerData as HostSettings | TransferSettings;
if ('kind' in settings) runTransfers(parentPort, settings);
else void runHost(parentPort, settings);
