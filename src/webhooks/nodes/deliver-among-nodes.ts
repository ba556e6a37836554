import type { Logger } from '../../base/logger.ts';
import { Watch } from '../../base/watch.ts';
import type { DatabaseClock } from '../../storage/postgres/database-clock.ts';
import type { Database } from '../../storage/database.ts';
import { listenPostgres } from '../../storage/postgres/listen-postgres.ts';
import type { Delivering, DeliveringParts } from '../delivering.ts';
import { Dispatcher } from '../dispatcher.ts';
import { LeasedOwnership } from './leased-ownership.ts';
import { NodeHints } from './node-hints.ts';
import { PendingPoll } from './pending-poll.ts';

export interface NodesOptions {
  /** A database with connections of its own, which requests cannot use up. */
  readonly database: Database;
  readonly url: string;
  readonly clock: DatabaseClock;
}

/** How often the database is asked for its time. */
const clockIntervalMs = 5_000;

/** Delivers as one of several nodes on one database: each has its share of the instances, and tells others of what is theirs. */
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
      // First, and awaited only below: claims must stop before anything else takes its time.
      const stopped = dispatcher.stop(graceMs);
      await poll.stop();
      for (const one of running) await one.stop();
      // Ownership ends while attempts are still in flight: those may take as long as the grace, and other nodes need not wait.
      await Promise.all([ownership.leave(), stopped]);
      await hints.stop();
      await giveUp(ownership, logger);
    },
  };
}

/** Listens to hints of other nodes. A hint about an instance of another node is dropped, not passed on again. */
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

/** Gives up all leases. If the database cannot be reached, other nodes wait for the leases to expire. */
async function giveUp(ownership: LeasedOwnership, logger: Logger): Promise<void> {
  try {
    await ownership.stop();
  } catch (error) {
    logger.warn('The share of the work could not be given back; others take it when its leases run out.', {
      error,
    });
  }
}
