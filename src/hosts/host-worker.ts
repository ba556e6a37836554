/**
 * The thread of a host: it runs the instances that the front places here. It has no connections of clients; requests and answers are
 * messages (host-messages.ts).
 */

import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../base/assert.ts';
import { createLogger } from '../base/create-logger.ts';
import { messageOf, openDataDirectory } from '../open-data-directory.ts';
import { AnswerFront } from './answer-front.ts';
import type { HostSettings, ToHost } from './host-messages.ts';
import { openHost } from './open-host.ts';

const beatMs = 50;

assert(parentPort !== null, 'host-worker.ts runs as a worker thread only');
const port = parentPort;
// Only host-thread.ts starts this file, with these settings.
const settings = workerData as HostSettings;
const { config } = settings;
const logger = createLogger(config);
const front = new AnswerFront({ port, settings, logger });

const beats = new Int32Array(settings.beats);
setInterval(() => Atomics.add(beats, 0, 1), beatMs);

try {
  const { isPlaced } = front;
  const data = await openDataDirectory(config, { logger, isPlaced });
  const host = await openHost({
    config: { ...config, webhookSlots: settings.slotsMax },
    parts: {},
    data,
    logger,
    isPlaced,
    readiness: () => front.readiness,
    metrics: front,
  });
  await host.start();
  front.open(host, data);
  // Only host-thread.ts holds the other end.
  port.on('message', (message: ToHost) => front.receive(message));
  front.post({ kind: 'ready' });
} catch (error) {
  front.post({ kind: 'failed', reason: messageOf(error) });
}
