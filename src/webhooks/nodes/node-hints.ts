import type { Logger } from '../../base/logger.ts';
import { sql } from '../../sql/sql.ts';
import type { Database } from '../../storage/database.ts';

/** Hints are gathered for this long and sent as one message. */
const intervalMs = 50;
/** A NOTIFY payload must be shorter than 8,000 bytes; an id takes 15 and a comma. */
const idsMax = 400;

/**
 * Tells the other nodes which instances have new deliveries, outside the transactions of records. A hint may be lost, as every
 * node also looks by itself.
 */
export class NodeHints {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #ids = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;
  #isStopped = false;

  constructor(database: Database, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  add(instanceId: string): void {
    if (this.#isStopped) return;
    this.#ids.add(instanceId);
    this.#timer ??= setTimeout(() => {
      this.#flushing = this.#flush();
    }, intervalMs).unref();
  }

  /** Drops hints that were not sent yet: the other nodes find those deliveries by themselves. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#flushing;
  }

  /** Returns the instance ids in a payload; anything else in it is dropped. */
  static idsOf(payload: string): readonly string[] {
    return payload.split(',').filter((id) => /^[a-z0-9]{15}$/.test(id));
  }

  async #flush(): Promise<void> {
    this.#timer = undefined;
    const ids = [...this.#ids];
    this.#ids.clear();
    try {
      for (let from = 0; from < ids.length; from += idsMax) {
        const payload = ids.slice(from, from + idsMax).join(',');
        await this.#database.get(sql`SELECT pg_notify('chancery_wake', ${payload})`);
      }
    } catch (error) {
      this.#logger.warn('Other nodes could not be told of new deliveries; they look by themselves.', {
        error,
      });
    }
  }
}
