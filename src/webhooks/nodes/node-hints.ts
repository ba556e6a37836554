import type { Logger } from '../../base/logger.ts';
import { sql } from '../../sql/sql.ts';
import type { Database } from '../../storage/database.ts';

/** The pause after a message. Hints that come meanwhile are gathered and are the next one. */
const pauseMs = 10;
/** A NOTIFY payload must be shorter than 8,000 bytes; an id takes 15 and a comma. */
const idsMax = 400;

/**
 * Tells the other nodes which instances have new deliveries, outside the transactions of records: at once, or after the pause since
 * the last message. A hint may be lost, as every node also looks by itself.
 */
export class NodeHints {
  readonly #database: Pick<Database, 'get'>;
  readonly #logger: Logger;
  readonly #ids = new Set<string>();
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

  /** Drops hints that were not sent yet: the other nodes find those deliveries by themselves. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#ids.clear();
    await this.#sending;
  }

  /** Returns the instance ids in a payload; anything else in it is dropped. */
  static idsOf(payload: string): readonly string[] {
    return payload.split(',').filter((id) => /^[a-z0-9]{15}$/.test(id));
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
    try {
      for (let from = 0; from < ids.length; from += idsMax) {
        const payload = ids.slice(from, from + idsMax).join(',');
        // Nothing waits for the sync of this commit: there is nothing in it that could be lost.
        await this.#database.get(
          sql`SELECT set_config('synchronous_commit', 'off', true), pg_notify('chancery_wake', ${payload})`,
        );
      }
    } catch (error) {
      this.#logger.warn('Other nodes could not be told of new deliveries; they look by themselves.', {
        error,
      });
    }
  }
}
