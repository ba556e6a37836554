import { newId } from '../../base/ids.ts';
import { isJsonObject } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import { Poller } from '../../base/poller.ts';
import { sql } from '../../sql/sql.ts';
import type { Database } from '../../storage/database.ts';
import { postgresMigrations } from '../../storage/migrations/postgres-migrations.ts';
import type { DatabaseClock } from '../../storage/postgres/database-clock.ts';
import { listenPostgres } from '../../storage/postgres/listen-postgres.ts';
import type { Delivering, DeliveringParts } from '../delivering.ts';
import { Dispatcher } from '../dispatcher.ts';
import { Janitor } from '../janitor.ts';
import { whileActive } from '../loans.ts';
import type { OriginNews } from '../reached-origins.ts';
import { LeasedOwnership } from './leased-ownership.ts';
import { Partitions } from './partitions.ts';
import { WorkPoll } from './work-poll.ts';

export interface NodesOptions {
  /** A database with connections of its own, which requests cannot use up. */
  readonly database: Database;
  readonly url: string;
  readonly clock: DatabaseClock;
}

/** How often the time of the database is read. */
const clockIntervalMs = 5_000;

/** Delivers as one of several nodes on one database: each has its share of the instances, and notifies the others of theirs. */
export function deliverAmongNodes(
  parts: DeliveringParts,
  { database, url, clock }: NodesOptions,
): Delivering {
  const { logger } = parts;
  const hints = new NodeHints(database, logger);
  const poll = new WorkPoll({
    database,
    clock,
    logger,
    onPending: (id, due, what) => dispatcher.noteDue(id, due, what),
  });
  const leases = new LeasedOwnership({
    database,
    clock,
    logger,
    version: parts.version,
    steps: postgresMigrations.length,
    prepareHandOver: (isGoing) => dispatcher.prepareHandOver(isGoing),
    onGain: () => poll.lookAgain(),
  });
  const ownership = whileActive(leases, parts.isActive);
  const dispatcher = new Dispatcher({
    ...parts,
    clock,
    ownership,
    safeEnd: poll,
    onForeign: (id) => hints.add(id),
    onOrigins: (news) => hints.tell(news),
  });
  // Any name works: the node that owns its shard drops old partitions.
  const isChosen = (): boolean => leases.owns('partitions');
  const partitions = new Partitions({ database, clock, logger, safeEnd: poll, isChosen });
  const janitor = new Janitor({
    ...parts,
    days: parts.webhookDays,
    wake: (id) => dispatcher.wake(id),
    clock,
    retention: partitions,
    owns: (id) => ownership.owns(id),
    safeEnd: poll,
  });
  const running: { stop(): Promise<void> }[] = [];
  return {
    dispatcher,
    wake: (instanceId, what) => dispatcher.wake(instanceId, what),
    janitor,
    notifyNodes: (instanceId) => hints.add(instanceId),
    node: leases.node,
    start: async () => {
      await clock.look(database);
      await leases.start();
      for (const part of [dispatcher, poll, partitions, janitor]) part.start();
      running.push(listenForHints({ ...parts, clock, ownership, dispatcher, hints, url }));
      running.push(watchClock(clock, database, logger));
    },
    stop: async (graceMs) => {
      // First, and awaited only below: claims must stop before anything else takes time.
      const stopped = dispatcher.stop(graceMs);
      await Promise.all([poll.stop(), janitor.stop(), partitions.stop()]);
      for (const one of running) await one.stop();
      // Ownership ends while attempts are still in flight: those may take as long as the grace, and other nodes need not wait.
      await Promise.all([leases.leave(), stopped]);
      await hints.stop();
      await giveUp(leases, logger);
    },
  };
}

/** Listens to notifications of other nodes. One about an instance of another node is not forwarded. */
function listenForHints({
  ownership,
  dispatcher,
  hints,
  clock,
  onHint,
  url,
  logger,
}: Pick<DeliveringParts, 'onHint' | 'logger' | 'clock'> & {
  readonly ownership: Pick<LeasedOwnership, 'owns'>;
  readonly dispatcher: Dispatcher;
  readonly hints: NodeHints;
  readonly url: string;
}): { stop(): Promise<void> } {
  return listenPostgres({
    url,
    channel: 'chancery_wake',
    onMessage: (payload) => {
      const news = hints.newsOf(payload);
      if (news !== undefined) return dispatcher.origins.hear(news, clock.monotonic());
      for (const id of NodeHints.idsOf(payload)) {
        if (ownership.owns(id)) dispatcher.wake(id);
        onHint(id);
      }
    },
    onError: (error) =>
      logger.warn('Notifications of other nodes cannot be received; polling instead.', { error }),
  });
}

function watchClock(clock: DatabaseClock, database: Database, logger: Logger): Poller {
  const onError = (error: unknown): void =>
    logger.warn('Reading the time of the database failed; using the last offset.', { error });
  return new Poller({ intervalMs: clockIntervalMs, poll: () => clock.look(database), onError });
}

/** Releases all leases. If the database cannot be reached, other nodes wait for the leases to expire. */
async function giveUp(ownership: LeasedOwnership, logger: Logger): Promise<void> {
  try {
    await ownership.stop();
  } catch (error) {
    logger.warn('The shard leases could not be released; other nodes take over when they expire.', {
      error,
    });
  }
}

/** The pause after a message. Hints of that time form the next one. */
const pauseMs = 10;
/** A NOTIFY payload must be shorter than 8,000 bytes; an id takes 15 and a comma. */
const idsMax = 400;

/**
 * Notifies the other nodes of instances with new deliveries, outside the transactions of records: at once, or after the pause since
 * the last message. A hint may be lost, as every node polls as well.
 */
export class NodeHints {
  readonly #database: Pick<Database, 'get'>;
  readonly #logger: Logger;
  readonly #ids = new Set<string>();
  /** In messages that every node gets, also this one. */
  readonly #name = newId();
  /** Until everything is sent and the pause after it is over. */
  #sending: Promise<void> | undefined;
  #isStopped = false;

  constructor(database: Pick<Database, 'get'>, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  add(instanceId: string): void {
    if (this.#isStopped) return;
    this.#ids.add(instanceId);
    this.#sending ??= this.#sendAll();
  }

  /** Tells other nodes of origins: a hint as well, and old nodes ignore it. */
  tell(news: OriginNews): void {
    if (!this.#isStopped) void this.#notify(JSON.stringify({ ...news, from: this.#name }));
  }

  /** Drops hints that were not sent yet: the other nodes find those deliveries by polling. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#ids.clear();
    await this.#sending;
  }

  /** Returns the instance ids in a payload; anything else in it is dropped. */
  static idsOf(payload: string): readonly string[] {
    return payload.split(',').filter((id) => /^[a-z0-9]{15}$/.test(id));
  }

  /** Returns what a payload tells of origins; undefined for one of another kind, and for our own. */
  newsOf(payload: string): OriginNews | undefined {
    if (!payload.startsWith('{')) return undefined;
    const news: unknown = JSON.parse(payload);
    const isForeign = isJsonObject(news) && news['from'] !== this.#name;
    if (!isForeign) return { waiting: [], reached: [] };
    return { waiting: textsOf(news['waiting']), reached: textsOf(news['reached']) };
  }

  async #sendAll(): Promise<void> {
    while (this.#ids.size > 0) {
      await this.#send();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    this.#sending = undefined;
  }

  async #send(): Promise<void> {
    const ids = [...this.#ids];
    this.#ids.clear();
    for (let from = 0; from < ids.length; from += idsMax) {
      const payload = ids.slice(from, from + idsMax).join(',');
      await this.#notify(payload);
    }
  }

  async #notify(payload: string): Promise<void> {
    try {
      // This commit need not wait for the disk: it writes no rows.
      await this.#database.get(
        sql`SELECT set_config('synchronous_commit', 'off', true), pg_notify('chancery_wake', ${payload})`,
      );
    } catch (error) {
      this.#logger.warn('Other nodes could not be notified of new deliveries; they poll for them.', {
        error,
      });
    }
  }
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
