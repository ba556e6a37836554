import type { Logger } from '../base/logger.ts';
import { Watch } from '../base/watch.ts';
import type { DatabaseClock } from '../storage/postgres/database-clock.ts';
import type { Database } from '../storage/database.ts';
import { listenPostgres } from '../storage/postgres/listen-postgres.ts';
import type { Delivering, DeliveringParts } from './delivering.ts';
import { Dispatcher } from './dispatcher.ts';
import { LeasedOwnership } from './leased-ownership.ts';
import { NodeHints } from './node-hints.ts';
import { PendingPoll } from './pending-poll.ts';

export interface NodesOptions {
  /** Over connections that no request can take. */
  readonly database: Database;
  readonly url: string;
  readonly clock: DatabaseClock;
}

/** How often the time of the database is looked at. */
const clockIntervalMs = 5_000;

/** Among other nodes on one database: each delivers its share of the instances, and tells the others of what is theirs. */
export function deliverAmongNodes(
  parts: DeliveringParts,
  { database, url, clock }: NodesOptions,
): Delivering {
  const { logger } = parts;
  const hints = new NodeHints(database, logger);
  const ownership = new LeasedOwnership({
    database,
    clock,
    logger,
    version: parts.version,
    prepareHandOver: (isGoing) => dispatcher.prepareHandOver(isGoing),
    onGain: () => poll.lookAgain(),
  });
  const dispatcher = new Dispatcher({ ...parts, clock, ownership, onForeign: (id) => hints.add(id) });
  const onPending = (id: string, due: number): void => dispatcher.noteDue(id, due);
  const poll = new PendingPoll({ database, clock, logger, onPending });
  const running: { stop(): Promise<void> }[] = [];
  return {
    dispatcher,
    wake: (instanceId) => dispatcher.wake(instanceId),
    start: async () => {
      await clock.look(database);
      await ownership.start();
      poll.start();
      running.push(hear(dispatcher, ownership, { url, logger }), watchClock(clock, database, logger));
    },
    stop: async (graceMs) => {
      // First and not awaited yet: claims stop before anything else may take its time.
      const stopped = dispatcher.stop(graceMs);
      await poll.stop();
      for (const one of running) await one.stop();
      // At once and not at the end: attempts in flight may take as long as the grace, and all else need not wait for them.
      await Promise.all([ownership.leave(), stopped]);
      await hints.stop();
      await giveUp(ownership, logger);
    },
  };
}

/** Hints of other nodes; what is not ours is not passed on again. */
function hear(
  dispatcher: Dispatcher,
  ownership: LeasedOwnership,
  { url, logger }: { readonly url: string; readonly logger: Logger },
): { stop(): Promise<void> } {
  return listenPostgres({
    url,
    channel: 'chancery_wake',
    onMessage: (payload) => {
      for (const id of NodeHints.idsOf(payload)) if (ownership.owns(id)) dispatcher.wake(id);
    },
    onError: (error) => logger.warn('Hints of other nodes cannot be heard; looking without them.', { error }),
  });
}

function watchClock(clock: DatabaseClock, database: Database, logger: Logger): Watch {
  const onError = (error: unknown): void =>
    logger.warn('The time of the database could not be read; going on with the last difference.', { error });
  return new Watch({ intervalMs: clockIntervalMs, look: () => clock.look(database), onError });
}

/** When the database is gone, too, others wait for the leases to run out. */
async function giveUp(ownership: LeasedOwnership, logger: Logger): Promise<void> {
  try {
    await ownership.stop();
  } catch (error) {
    logger.warn('The share of the work could not be given back; others take it when its leases run out.', {
      error,
    });
  }
}
