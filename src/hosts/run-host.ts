import type { MessagePort } from 'node:worker_threads';
import { createLogger } from '../base/create-logger.ts';
import type { InstanceHost } from '../http/host/instance-host.ts';
import { messageOf, openDataDirectory } from '../open-data-directory.ts';
import { AnswerFront } from './answer-front.ts';
import type { HostSettings, ToHost } from './host-messages.ts';
import { openHost } from './open-host.ts';
import { PlacedHost } from './placed-host.ts';

/** How often it shows that it turns. */
const beatMs = 50;

/** Parts of a host in a thread that tests wrap. */
export interface HostThreadParts {
  readonly wrapHost?: (host: InstanceHost) => InstanceHost;
}

/** Opens the data for the instances that the front places in this thread, and answers the front until it stops the thread. */
export async function runHost(
  port: MessagePort,
  settings: HostSettings,
  { wrapHost = (host) => host }: HostThreadParts = {},
): Promise<void> {
  const { config } = settings;
  const logger = createLogger(config);
  const front = new AnswerFront({ port, settings, logger });
  const beats = new Int32Array(settings.beats);
  setInterval(() => Atomics.add(beats, 0, 1), beatMs);
  try {
    const { placements } = front;
    const data = await openDataDirectory(config, {
      logger,
      role: 'host',
      isPlaced: (id) => placements.owns(id),
    });
    const running = await openHost({
      config: { ...config, webhookSlots: settings.slotsMax },
      parts: {},
      data,
      logger,
      ownership: placements,
      onClosed: (id, times) => {
        // Of one that has left, its next host says so.
        if (placements.owns(id)) front.post({ kind: 'closed', id, times });
      },
      onLongTurn: (turn) => front.post({ kind: 'longTurn', turn }),
      readiness: () => front.readiness,
      metrics: front,
    });
    await running.start();
    const host = new PlacedHost({ running, host: wrapHost(running.host), data, placements, logger });
    front.open({ data, host });
    // Only host-thread.ts holds the other end.
    port.on('message', (message: ToHost) => front.receive(message));
    front.post({ kind: 'ready' });
  } catch (error) {
    front.post({ kind: 'failed', reason: messageOf(error) });
  }
}
