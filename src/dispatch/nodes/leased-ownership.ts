import type { Clock } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import type { Logger } from '../../base/logger.ts';
import { Poller } from '../../base/poller.ts';
import { sql, type Sql } from '../../sql/sql.ts';
import type { Database } from '../../storage/database.ts';
import type { Ownership } from '../../deliveries/delivery.ts';
import type { HandOver } from '../hand-over.ts';

/** A node that has not renewed its leases for this long, by the database's clock, counts as dead. */
const leaseSeconds = 10;
const renewIntervalMs = 3_000;
/** How often free shards are acquired: within this time another node takes over from one that stops. */
const lookIntervalMs = 500;

export interface LeasedOwnershipOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
  /** How many steps of the schema this version has. */
  readonly steps: number;
  /** Called before shards are released, once nothing of them is claimed any more; its result then runs in that transaction. */
  readonly prepareHandOver: (isGoing: (instanceId: string) => boolean) => Promise<HandOver>;
  /** Called when shards were gained. */
  readonly onGain: () => void;
}

/**
 * Divides the shards among the living nodes. Each shard has a lease with an epoch that grows whenever it changes hands; a
 * settlement is stored only while its (node, epoch) is still that of the lease. All nodes do the same and none is special:
 *
 *   every 3 s    renew the leases, and this node's heartbeat
 *   every 0.5 s  count the living nodes, release shards beyond this node's share, acquire free ones up to it
 */
export class LeasedOwnership implements Ownership {
  readonly node = newId();
  readonly #options: LeasedOwnershipOptions;
  readonly #epochs = new Map<number, number>();
  /** Shards that are being released: nothing of them is claimed. */
  readonly #leaving = new Set<number>();
  #renewedMs = Number.NEGATIVE_INFINITY;
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #watch: Poller | undefined;
  #isLeaving = false;
  #hasLeft = false;

  constructor(options: LeasedOwnershipOptions) {
    this.#options = options;
  }

  owns(instanceId: string): boolean {
    const shard = shardOf(instanceId);
    if (this.#isLeaving) return false;
    // The leases have expired without a response of the database, so other nodes may own them: pausing beats sending twice.
    if (this.#options.clock.monotonic() > this.#validUntilMs) return false;
    return this.#epochs.has(shard) && !this.#leaving.has(shard);
  }

  epochOf(instanceId: string): string {
    return String(this.#epochs.get(shardOf(instanceId)));
  }

  fence(instanceId: string): Sql {
    const shard = shardOf(instanceId);
    const epoch = this.#epochs.get(shard) ?? -1;
    return sql`EXISTS (
      SELECT 1 FROM chancery.shard_lease WHERE shard = ${shard} AND node = ${this.node} AND epoch = ${epoch})`;
  }

  /** Acquires a first share of the shards, and updates it until stopped. */
  async start(): Promise<void> {
    await this.#look();
    const onError = (error: unknown): void =>
      this.#options.logger.warn('Reading the shard leases failed; retrying.', { error });
    this.#watch = new Poller({ intervalMs: lookIntervalMs, poll: () => this.#look(), onError });
  }

  /** Owns nothing from now on and releases all shards at once. When that fails, it is retried until {@link stop}. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    await this.#watch?.look();
  }

  /** Ends the polling, after {@link leave}; if that has not succeeded yet, tries it a last time. */
  async stop(): Promise<void> {
    await this.#watch?.stop();
    if (!this.#hasLeft) await this.#look();
  }

  async #look(): Promise<void> {
    if (this.#hasLeft) return;
    if (this.#options.clock.monotonic() - this.#renewedMs >= renewIntervalMs) await this.#renew();
    if (this.#isLeaving) return this.#giveAll();
    const share = await this.#readShare();
    this.#chooseLeaving(share);
    await this.#giveAway();
    if (this.#epochs.size < share) await this.#take(share - this.#epochs.size);
  }

  async #renew(): Promise<void> {
    const { database, clock, version, steps } = this.#options;
    // Taken before the statement is sent: the database starts the leases later, so they last at least as long as counted here.
    const sentMs = clock.monotonic();
    const haveLapsed = sentMs > this.#validUntilMs && this.#epochs.size > 0;
    const rows = await database.write(async (tx) => {
      await tx.run(sql`
        INSERT INTO chancery.node (id, version, steps, started, seen) VALUES (${this.node}, ${version}, ${steps}, now(), now())
        ON CONFLICT (id) DO UPDATE SET seen = now()`);
      return tx.returning(sql`
        UPDATE chancery.shard_lease SET expires = now() + make_interval(secs => ${leaseSeconds})
        WHERE node = ${this.node} RETURNING shard, epoch`);
    });
    this.#epochs.clear();
    for (const [shard, epoch] of rows) this.#epochs.set(Number(shard), Number(epoch));
    for (const shard of this.#leaving) if (!this.#epochs.has(shard)) this.#leaving.delete(shard);
    this.#renewedMs = sentMs;
    this.#validUntilMs = sentMs + leaseSeconds * 1_000;
    // Its lanes were paused meanwhile. No other node has acquired shards that are still ours, so these are woken here.
    if (haveLapsed && this.#epochs.size > 0) this.#options.onGain();
  }

  /** Returns how many shards this node should have: an equal part for each living node, rounded up. */
  async #readShare(): Promise<number> {
    const [row] = await this.#options.database.tuples(sql`
      SELECT count(*) FROM chancery.node WHERE seen > now() - make_interval(secs => ${leaseSeconds})`);
    return Math.ceil(shardCount / Math.max(1, Number(row?.[0])));
  }

  #chooseLeaving(share: number): void {
    for (const shard of this.#epochs.keys()) {
      if (this.#epochs.size - this.#leaving.size <= share) return;
      this.#leaving.add(shard);
    }
  }

  async #giveAway(): Promise<void> {
    const going = [...this.#leaving];
    if (going.length === 0) return;
    const handOver = await this.#options.prepareHandOver((id) => this.#leaving.has(shardOf(id)));
    await this.#options.database.write(async (tx) => {
      await handOver(tx);
      await tx.run(sql`
        UPDATE chancery.shard_lease SET node = NULL, expires = now()
        WHERE node = ${this.node} AND shard = ANY(${`{${going.join(',')}}`}::integer[])`);
    });
    for (const shard of going) {
      this.#leaving.delete(shard);
      this.#epochs.delete(shard);
    }
  }

  /** Releases all shards and removes this node in one commit, so that the others' shares grow as the shards become free. */
  async #giveAll(): Promise<void> {
    const handOver = await this.#options.prepareHandOver(() => true);
    await this.#options.database.write(async (tx) => {
      await handOver(tx);
      await tx.run(
        sql`UPDATE chancery.shard_lease SET node = NULL, expires = now() WHERE node = ${this.node}`,
      );
      await tx.run(sql`DELETE FROM chancery.node WHERE id = ${this.node}`);
    });
    this.#hasLeft = true;
    this.#epochs.clear();
  }

  async #take(count: number): Promise<void> {
    const rows = await this.#options.database.write((tx) =>
      tx.returning(sql`
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

/** The number of shards that nodes divide among themselves: enough for tens of nodes to have about the same share. */
export const shardCount = 256;

/** The shard of an instance, 0 … 255: FNV-1a of its id (http://www.isthe.com/chongo/tech/comp/fnv/), the same on every node. */
export function shardOf(instanceId: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < instanceId.length; index += 1) {
    hash = Math.imul(hash ^ instanceId.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) % shardCount;
}

/** A node in the database. */
export interface NodeView {
  readonly id: string;
  readonly version: string;
  readonly started: string;
  /** Seconds since its last heartbeat. */
  readonly seenSeconds: number;
  readonly shards: number;
}

/** Returns the nodes of a PostgreSQL database and how many shards each has, the longest running first. */
export async function listNodes(control: Database): Promise<readonly NodeView[]> {
  const rows = await control.tuples(sql`
    SELECT n.id, n.version, to_char(n.started AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"'),
      extract(epoch FROM now() - n.seen)::double precision, count(l.shard)
    FROM chancery.node n LEFT JOIN chancery.shard_lease l ON l.node = n.id AND l.expires > now()
    GROUP BY n.id ORDER BY n.started, n.id`);
  return rows.map(([id, version, started, seen, shards]) => ({
    id: String(id),
    version: String(version),
    started: String(started),
    seenSeconds: Math.round(Number(seen) * 10) / 10,
    shards: Number(shards),
  }));
}
