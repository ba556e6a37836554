import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { Watch } from '../../base/watch.ts';
import { sql } from '../../sql/sql.ts';
import type { Database } from '../../storage/database.ts';
import { DueFloor } from '../due-floor.ts';

const intervalMs = 250;

export interface PendingPollOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called for every instance with pending deliveries, with the time its first one is due (milliseconds since 1970). */
  readonly onPending: (instanceId: string, due: number) => void;
}

/**
 * Looks for pending deliveries of all instances of a PostgreSQL database, so that what other nodes wrote is found even if no hint
 * came through. A look costs one index step per instance that has pending deliveries.
 */
export class PendingPoll {
  readonly #options: PendingPollOptions;
  readonly #floor = new DueFloor();
  #watch: Watch | undefined;

  constructor(options: PendingPollOptions) {
    this.#options = options;
  }

  start(): void {
    const onError = (error: unknown): void =>
      this.#options.logger.warn('Pending deliveries could not be looked for; trying again.', { error });
    this.#watch = new Watch({ intervalMs, look: () => this.#look(), onError });
    void this.#watch.look();
  }

  /** Looks at once and from the start, as this node has just gained shards. */
  lookAgain(): void {
    this.#floor.reset();
    void this.#watch?.look();
  }

  async stop(): Promise<void> {
    await this.#watch?.stop();
  }

  async #look(): Promise<void> {
    const now = this.#options.clock.now();
    const since = this.#floor.beginAt(now);
    const rows = await this.#options.database.tuples(sql`
      WITH RECURSIVE first AS (
        (SELECT instance_id, due FROM chancery.delivery WHERE status = 'pending' AND due >= ${since} ORDER BY instance_id, due LIMIT 1)
        UNION ALL
        SELECT next.instance_id, next.due FROM first, LATERAL (
          SELECT instance_id, due FROM chancery.delivery
          WHERE status = 'pending' AND due >= ${since} AND instance_id > first.instance_id ORDER BY instance_id, due LIMIT 1
        ) next
      )
      SELECT instance_id, due FROM first`);
    // The listener remembers what is due for each instance, so the next look need not find the same again.
    this.#floor.note(now, undefined);
    for (const [instanceId, due] of rows) this.#options.onPending(String(instanceId), Number(due));
  }
}
