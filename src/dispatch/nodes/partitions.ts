import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { Poller } from '../../base/poller.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import type { SafeEnd } from '../../events/log-horizon.ts';
import { toTrimmed, type TrimPoint } from '../../events/trimmed.ts';
import { foundByKeys, sql } from '../../sql/sql.ts';
import type { Database } from '../../storage/database.ts';
import {
  dropPartition,
  type LogPartition,
  makePartitions,
  partitionName,
  positionsMin,
  readPartitions,
} from '../../storage/postgres/log-partitions.ts';
import type { Retention } from '../janitor.ts';

/** A partition lasts for hours at least, and the next two exist already. */
const lookIntervalMs = 10_000;
const dayMs = 86_400_000;
/** How often a position is sampled, and how long the samples must span to estimate the growth of the log. */
const sampleMs = 600_000;

export interface PartitionsOptions {
  readonly database: Database;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  readonly safeEnd: Pick<SafeEnd, 'safePosition'>;
  /** Whether this node is the one that drops partitions: two at the same time would only block each other. */
  readonly isChosen: () => boolean;
}

/** How far the log was at a time, by the monotonic clock. */
export interface LogSample {
  readonly atMs: number;
  readonly position: number;
}

/**
 * Creates partitions of the log before they are needed, on every node, and drops those in which everything is old, on one node.
 */
export class Partitions implements Retention {
  /** Where a million events take long, old ones are deleted one by one: that is cheap there. */
  readonly graceMs = 2 * dayMs;
  readonly #options: PartitionsOptions;
  /** The samples of the last day, the oldest first. */
  #samples: readonly LogSample[] = [];
  /** The position up to which there are enough partitions. */
  #isMadeUpTo = -1;
  #watch: Poller | undefined;

  constructor(options: PartitionsOptions) {
    this.#options = options;
  }

  start(): void {
    const onError = (error: unknown): void =>
      this.#options.logger.warn('Creating partitions of the log failed; retrying.', { error });
    this.#watch = new Poller({ intervalMs: lookIntervalMs, poll: () => this.look(), onError });
    void this.#watch.look();
  }

  async stop(): Promise<void> {
    await this.#watch?.stop();
  }

  async look(): Promise<void> {
    const { database, clock } = this.#options;
    const [row] = await database.tuples(
      sql`SELECT coalesce(pg_sequence_last_value('chancery.event_position_seq'), 0)`,
    );
    const now = { atMs: clock.monotonic(), position: Number(row?.[0]) };
    const [oldest = now] = (this.#samples = addSample(this.#samples, now));
    if (now.position <= this.#isMadeUpTo) return;
    const size = partitionSize(oldest, now);
    this.#isMadeUpTo = await database.write((tx) => makePartitions(tx, { size }));
  }

  async dropOld(
    before: number,
    giveUp: (instanceId: string, trimmed: TrimPoint) => Promise<void>,
  ): Promise<void> {
    const { database, logger, isChosen } = this.#options;
    if (!isChosen()) return;
    const partitions = await readPartitions(database);
    // Partitions that an earlier process did not finish dropping.
    for (const one of partitions) if (one.state !== 'attached') await dropPartition(database, one);
    const attached = partitions.filter(({ state }) => state === 'attached');
    const events = attached.filter(({ table }) => table === 'event');
    let oldEnd = events[0]?.first ?? 0;
    for (const partition of events) {
      if (!(await this.#isGivenUp(partition, before, giveUp))) break;
      oldEnd = partition.end;
    }
    const old = attached.filter(({ end }) => end <= oldEnd);
    for (const one of old.toSorted((a, b) => orderOf(a) - orderOf(b))) await dropPartition(database, one);
    if (old.length === 0) return;
    await database.write((tx) => tx.run(sql`DELETE FROM chancery.gap WHERE last < ${oldEnd}`));
    logger.info('Old partitions of the log were dropped.', {
      before: toTimestamp(before),
      positions: oldEnd,
    });
  }

  /**
   * Returns the instances in which the janitor has something to do: old events, cursors behind their log, deleted endpoints, certificates
   * that end some day, deliveries that may wait for nothing, or mails of alerts to send.
   */
  async findUntidy(before: number): Promise<readonly string[]> {
    const event = sql`SELECT instance_id, created FROM chancery.event`;
    const next = sql`ORDER BY instance_id, position LIMIT 1`;
    const rows = await this.#options.database.tuples(
      foundByKeys(sql`
      WITH RECURSIVE first AS (
        (${event} ${next})
        UNION ALL
        SELECT next.* FROM first, LATERAL (${event} WHERE instance_id > first.instance_id ${next}) next
      )
      SELECT instance_id FROM first WHERE created < ${toTimestamp(before - this.graceMs)}
      UNION SELECT instance_id FROM chancery.instance_setting WHERE name LIKE 'alert mail %'
      UNION SELECT instance_id FROM chancery.endpoint WHERE deleted <> '' OR "order" = 'record' OR client_certificate IS NOT NULL
      UNION SELECT l.instance_id FROM chancery.lane l WHERE EXISTS (
        SELECT 1 FROM chancery.delivery d WHERE d.instance_id = l.instance_id AND d.endpoint = l.endpoint AND d.event > l.cursor)`),
    );
    return rows.map(([id]) => String(id));
  }

  /** Whether everything in a partition is older than this, and all instances have expired their pending deliveries there. */
  async #isGivenUp(
    partition: LogPartition,
    before: number,
    giveUp: (instanceId: string, trimmed: TrimPoint) => Promise<void>,
  ): Promise<boolean> {
    if (partition.end - 1 > this.#options.safeEnd.safePosition) return false;
    const last = await this.#readLast(partition);
    const isAllBefore = (time: number): boolean => last.every((one) => one.time < toTimestamp(time));
    if (!isAllBefore(before)) return false;
    // Events that are not decided yet for endpoints of accounts are kept, however old they are.
    if (last.some(({ position, decided }) => position > decided)) return false;
    const left = last.filter(({ position, trimmed }) => trimmed.position < position);
    for (const { instanceId, position, time } of left) await giveUp(instanceId, { position, time });
    // Not at once: results of open attempts have yet to be written. One instance must not block the trimming of all.
    return left.length === 0 || isAllBefore(before - dayMs);
  }

  /** Reads the last event of each instance in a partition of events, and its trim point. */
  async #readLast(partition: LogPartition): Promise<readonly LastEvent[]> {
    const event = sql`SELECT instance_id, position, created FROM ${partitionName(partition)}`;
    const end = sql`ORDER BY instance_id DESC, position DESC LIMIT 1`;
    const each = sql`
      WITH RECURSIVE last AS (
        (${event} ${end})
        UNION ALL
        SELECT next.* FROM last, LATERAL (${event} WHERE instance_id < last.instance_id ${end}) next
      )
      SELECT last.instance_id, position, created, s.value, (
        SELECT least(CAST(d.value AS bigint), (SELECT min(decided) FROM chancery.lane l WHERE l.instance_id = d.instance_id))
        FROM chancery.instance_setting d WHERE d.instance_id = last.instance_id AND d.name = 'decided')
      FROM last LEFT JOIN chancery.instance_setting s ON s.instance_id = last.instance_id AND s.name = 'trimmed'`;
    const rows = await this.#options.database.tuples(foundByKeys(each));
    return rows.map(([instanceId, position, time, trimmed, decided]) => ({
      instanceId: String(instanceId),
      position: Number(position),
      time: String(time),
      trimmed: toTrimmed(String(trimmed ?? '')),
      decided: decided === null ? Number.POSITIVE_INFINITY : Number(decided),
    }));
  }
}

interface LastEvent extends TrimPoint {
  readonly instanceId: string;
  readonly trimmed: TrimPoint;
  /** The position up to which the log is decided for endpoints of accounts. */
  readonly decided: number;
}

/** Adds a sample, and keeps a few of the last day, the oldest first. */
export function addSample(samples: readonly LogSample[], sample: LogSample): readonly LogSample[] {
  const recent = samples.filter(({ atMs }) => atMs >= sample.atMs - dayMs);
  const last = recent.at(-1);
  return last !== undefined && sample.atMs < last.atMs + sampleMs ? recent : [...recent, sample];
}

/** Returns how many positions a new partition has: about those of a day, with a minimum that limits the number of partitions. */
export function partitionSize(from: LogSample, to: LogSample): number {
  const spanMs = to.atMs - from.atMs;
  if (spanMs < sampleMs) return positionsMin;
  return Math.max(positionsMin, Math.ceil(((to.position - from.position) * dayMs) / spanMs));
}

/** First the deliveries: no list finds one whose event is gone. Then the event, without which nothing reads its outcomes. */
function orderOf({ table }: LogPartition): number {
  return ['delivery', 'event', 'outcome', 'attempt'].indexOf(table);
}
