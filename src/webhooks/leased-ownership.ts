import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';
import type { Ownership } from './ownership.ts';
import { shardCount, shardOf } from './shard-of.ts';

/** A node that has not renewed for this long is taken for dead, by the database's clock. */
const leaseSeconds = 10;
const renewIntervalMs = 3_000;
/** How soon a shard that became free is taken: a node that stops hands its work over within this. */
const lookIntervalMs = 500;

export interface LeasedOwnershipOptions {
  readonly control: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
  /** Instances of which something is in flight: their shard is given away only when that is settled. */
  readonly busy: () => Iterable<string>;
  /** Called when shards were gained. */
  readonly onGain: () => void;
}

/**
 * Divides the shards among the nodes that are alive. Each shard has a lease with an epoch that grows whenever it changes hands;
 * a settlement is only kept while (node, epoch) still stand. All nodes do the same and none is special:
 *
 *   every 3 s renew what is ours, tell that we live · every 0.5 s count the living, give away what is more than our share,
 *   take what is free up to our share
 */
export class LeasedOwnership implements Ownership {
  readonly node = newId();
  readonly #options: LeasedOwnershipOptions;
  readonly #epochs = new Map<number, number>();
  /** Ours no longer as far as new work goes, but not given away yet. */
  readonly #leaving = new Set<number>();
  #renewedMs = Number.NEGATIVE_INFINITY;
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isStopping = false;

  constructor(options: LeasedOwnershipOptions) {
    this.#options = options;
  }

  owns(instanceId: string): boolean {
    const shard = shardOf(instanceId);
    // When the database cannot be asked, others have taken over by now: better to rest than to send everything twice.
    if (this.#options.clock.monotonic() > this.#validUntilMs) return false;
    return this.#epochs.has(shard) && !this.#leaving.has(shard);
  }

  fence(instanceId: string): Sql {
    const shard = shardOf(instanceId);
    const epoch = this.#epochs.get(shard) ?? -1;
    return sql`EXISTS (
      SELECT 1 FROM chancery.shard_lease WHERE shard = ${shard} AND node = ${this.node} AND epoch = ${epoch})`;
  }

  /** Takes a first share, and goes on until it is stopped. */
  async start(): Promise<void> {
    await this.#look();
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look()
        .catch((error: unknown) => {
          this.#options.logger.warn('Shares of the work could not be looked at; trying again.', { error });
        })
        .finally(() => (this.#looking = undefined));
    }, lookIntervalMs).unref();
  }

  /** Gives everything away, so that others need not wait until the leases run out. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    await this.#looking;
    this.#epochs.clear();
    await this.#options.control.write(async (tx) => {
      await tx.run(
        sql`UPDATE chancery.shard_lease SET node = NULL, expires = now() WHERE node = ${this.node}`,
      );
      await tx.run(sql`DELETE FROM chancery.node WHERE id = ${this.node}`);
    });
  }

  async #look(): Promise<void> {
    if (this.#isStopping) return;
    if (this.#options.clock.monotonic() - this.#renewedMs >= renewIntervalMs) await this.#renew();
    const share = await this.#readShare();
    this.#chooseLeaving(share);
    await this.#giveAway();
    if (this.#epochs.size < share) await this.#take(share - this.#epochs.size);
  }

  async #renew(): Promise<void> {
    const { control, clock, version } = this.#options;
    // Before the question: the leases are at least as good as that from then on.
    const askedMs = clock.monotonic();
    const rows = await control.write(async (tx) => {
      await tx.run(sql`
        INSERT INTO chancery.node (id, version, started, seen) VALUES (${this.node}, ${version}, now(), now())
        ON CONFLICT (id) DO UPDATE SET seen = now()`);
      return tx.tuples(sql`
        UPDATE chancery.shard_lease SET expires = now() + make_interval(secs => ${leaseSeconds})
        WHERE node = ${this.node} RETURNING shard, epoch`);
    });
    this.#epochs.clear();
    for (const [shard, epoch] of rows) this.#epochs.set(Number(shard), Number(epoch));
    for (const shard of this.#leaving) if (!this.#epochs.has(shard)) this.#leaving.delete(shard);
    this.#renewedMs = askedMs;
    this.#validUntilMs = askedMs + leaseSeconds * 1_000;
  }

  /** How many shards are ours by right: as many as everybody's, rounded up. */
  async #readShare(): Promise<number> {
    const [row] = await this.#options.control.tuples(sql`
      SELECT count(*) FROM chancery.node WHERE seen > now() - make_interval(secs => ${leaseSeconds})`);
    return Math.ceil(shardCount / Math.max(1, Number(row?.[0])));
  }

  #chooseLeaving(share: number): void {
    for (const shard of this.#epochs.keys()) {
      if (this.#epochs.size - this.#leaving.size <= share) return;
      this.#leaving.add(shard);
    }
  }

  /** Only what has nothing in flight any more: whoever takes it then finds every row settled. */
  async #giveAway(): Promise<void> {
    if (this.#leaving.size === 0) return;
    const busy = new Set([...this.#options.busy()].map(shardOf));
    const free = [...this.#leaving].filter((shard) => !busy.has(shard));
    if (free.length === 0) return;
    await this.#options.control.write((tx) =>
      tx.run(sql`
        UPDATE chancery.shard_lease SET node = NULL, expires = now()
        WHERE node = ${this.node} AND shard = ANY(${`{${free.join(',')}}`}::integer[])`),
    );
    for (const shard of free) {
      this.#leaving.delete(shard);
      this.#epochs.delete(shard);
    }
  }

  async #take(count: number): Promise<void> {
    const rows = await this.#options.control.write((tx) =>
      tx.tuples(sql`
        UPDATE chancery.shard_lease SET node = ${this.node}, epoch = epoch + 1,
          expires = now() + make_interval(secs => ${leaseSeconds})
        WHERE shard IN (
          SELECT shard FROM chancery.shard_lease WHERE expires <= now()
          ORDER BY shard LIMIT ${count} FOR UPDATE SKIP LOCKED)
        RETURNING shard, epoch`),
    );
    for (const [shard, epoch] of rows) this.#epochs.set(Number(shard), Number(epoch));
    if (rows.length > 0) this.#options.onGain();
  }
}
