import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { Poller } from '../../base/poller.ts';
import { Signal } from '../../events/event-log.ts';
import { systemClock } from '../../base/clock.ts';
import { type LogState, readLogState, type SafeEnd, LogHorizon } from '../../events/log-horizon.ts';
import { foundByKeys, sql, type Sql } from '../../sql/sql.ts';
import type { Database } from '../../storage/database.ts';
import { DueFloor } from '../due-floor.ts';
import { behindMax, sweepEveryMs } from '../log-cursor.ts';

const pollIntervalMs = 250;
/** The interval while a caller waits for the log to become safe, and for how long after that. */
const hurriedIntervalMs = 20;
const hurriedForMs = 1_000;
/** States that are read in a row for waiting callers: one for a position, one for an id behind it, and one that shows that it is over. */
const statesInRowMax = 4;

export interface WorkPollOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called for every instance with pending deliveries, with their due time (milliseconds since 1970): new in the log, or any. */
  readonly onPending: (instanceId: string, due: number, what: 'log' | 'all') => void;
}

/**
 * Polls a PostgreSQL database for pending deliveries of any instance, so that writes of other nodes are found even without a
 * notification: new deliveries behind the position that was safe at the last poll, and retries. A poll from the start finds
 * deliveries behind the cursors of lanes.
 */
export class WorkPoll implements SafeEnd {
  readonly #options: WorkPollOptions;
  readonly #floor = new DueFloor();
  readonly #safe = new LogHorizon();
  /** The position up to which everything was reported, and nothing can have appeared since. */
  #sure = 0;
  #isFromStart = true;
  /** The last position of the log at the last poll. */
  #last = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;
  #watch: Poller | undefined;
  /** By the monotonic clock: the next poll, and until when the interval is short. */
  #nextAtMs = 0;
  #hurriedUntilMs = 0;
  #refreshedAtMs = Number.NEGATIVE_INFINITY;
  readonly #moved = new Signal();
  /** Settles when the requested states are read; and the state whose read has not begun. */
  #noting: Promise<unknown> = Promise.resolve();
  #next: Promise<LogState | undefined> | undefined;

  constructor(options: WorkPollOptions) {
    this.#options = options;
  }

  /** The position up to which no event can appear any more. */
  get safePosition(): number {
    return this.#safe.value;
  }

  hurry(): void {
    this.#hurriedUntilMs = systemClock.monotonic() + hurriedForMs;
  }

  refresh(): void {
    const nowMs = systemClock.monotonic();
    if (nowMs < this.#refreshedAtMs + hurriedIntervalMs) return;
    this.#refreshedAtMs = nowMs;
    void this.#nextState();
  }

  async nextSafe(delayMs: number): Promise<void> {
    this.hurry();
    const endMs = systemClock.monotonic() + delayMs;
    let last: number | undefined;
    for (let count = 1; ; count += 1) {
      const state = await this.#nextState();
      last ??= state?.last;
      const leftMs = endMs - systemClock.monotonic();
      if (leftMs <= 0 || (last !== undefined && this.#safe.value >= last)) return;
      // Another transaction is open, or nothing can be read, for an unknown time.
      if (count >= statesInRowMax) await this.#moved.wait(Math.min(leftMs, hurriedIntervalMs));
    }
  }

  start(): void {
    const onError = (error: unknown): void =>
      this.#options.logger.warn('Polling for pending deliveries failed; retrying.', { error });
    this.#watch = new Poller({ intervalMs: hurriedIntervalMs, poll: () => this.#lookIfDue(), onError });
  }

  /** Polls at once and from the start, as this node has just gained shards. */
  lookAgain(): void {
    this.#floor.reset();
    this.#isFromStart = true;
    this.#nextAtMs = 0;
    void this.#watch?.look();
  }

  async stop(): Promise<void> {
    await this.#watch?.stop();
  }

  async #lookIfDue(): Promise<void> {
    const nowMs = systemClock.monotonic();
    if (nowMs < this.#nextAtMs && nowMs > this.#hurriedUntilMs) return;
    this.#nextAtMs = nowMs + pollIntervalMs;
    await this.#look();
  }

  /** Reads a state that is not older than this call; undefined when that fails, which the interval logs. All waiting callers share one. */
  #nextState(): Promise<LogState | undefined> {
    this.#next ??= this.#noting.then(() => {
      this.#next = undefined;
      return this.#noteState().catch(() => undefined);
    });
    return this.#next;
  }

  /** Reads the state of the log and applies it. One after the other, as states must be applied in the order in which they were read. */
  #noteState(): Promise<LogState> {
    const noted = this.#noting.then(async () => {
      const state = await readLogState(this.#options.database, this.#safe);
      const before = this.#safe.value;
      this.#safe.note(state);
      if (this.#safe.value > before) this.#moved.notify();
      return state;
    });
    this.#noting = noted.catch(() => undefined);
    return noted;
  }

  async #look(): Promise<void> {
    const now = this.#options.clock.now();
    const isFromStart = this.#isFromStart;
    this.#isFromStart = false;
    try {
      await this.#lookForNew(now, isFromStart);
      await this.#lookForDue(now);
    } catch (error) {
      this.#isFromStart ||= isFromStart;
      throw error;
    }
  }

  async #lookForNew(now: number, isFromStart: boolean): Promise<void> {
    const { database, onPending } = this.#options;
    const from = this.#begin(now);
    // First: events that are safe by this state are visible to later reads.
    const state = await this.#noteState();
    // It may move on during the reads below, over events that these do not see.
    const safe = this.#safe.value;
    // Before any position is safe, too: the log may be long, and nearly all of it settled.
    const isWhole = isFromStart || (from === 0 && state.last > 0);
    const rows = isWhole
      ? await database.tuples(
          foundByKeys(sql`
          SELECT DISTINCT l.instance_id FROM chancery.lane l
          JOIN chancery.endpoint p ON p.instance_id = l.instance_id AND p.position = l.endpoint AND p.status = 'active' AND p.deleted = ''
          WHERE EXISTS (
            SELECT 1 FROM chancery.delivery d WHERE d.instance_id = l.instance_id AND d.endpoint = l.endpoint AND d.event > l.cursor
              AND NOT EXISTS (
                SELECT 1 FROM chancery.outcome o
                WHERE o.instance_id = d.instance_id AND o.event = d.event AND o.endpoint = d.endpoint))
          UNION SELECT instance_id FROM chancery.replay WHERE state = 'running'
          UNION ${reconcilesDue(now)}
          UNION SELECT s.instance_id FROM chancery.instance_setting s WHERE s.name = 'decided' AND (EXISTS (
            SELECT 1 FROM chancery.event e WHERE e.instance_id = s.instance_id AND e.position > CAST(s.value AS bigint)
          ) OR EXISTS (
            SELECT 1 FROM chancery.lane l WHERE l.instance_id = s.instance_id AND l.decided < CAST(s.value AS bigint)))`),
        )
      : await database.tuples(sql`
          SELECT DISTINCT instance_id FROM chancery.delivery WHERE event > ${from}
          UNION ${reconcilesDue(now)}
          UNION SELECT s.instance_id FROM chancery.instance_setting s WHERE s.name IN ('decided', 'watched') AND EXISTS (
            SELECT 1 FROM chancery.event e WHERE e.instance_id = s.instance_id AND e.position > ${from})`);
    this.#last = state.last;
    if (from === this.#sure) this.#sure = safe;
    for (const [instanceId] of rows) onPending(String(instanceId), now, isFromStart ? 'all' : 'log');
  }

  /** Returns where a poll begins. While one transaction has been open for long, events may appear before it; a sweep finds these. */
  #begin(now: number): number {
    const isSweepDue = now < this.#sweptAt || now >= this.#sweptAt + sweepEveryMs;
    if (!isSweepDue) return Math.max(this.#sure, this.#last - behindMax);
    this.#sweptAt = now;
    return this.#sure;
  }

  async #lookForDue(now: number): Promise<void> {
    const { database, onPending } = this.#options;
    const since = this.#floor.beginAt(now);
    const pending = sql`status = 'pending' AND due IS NOT NULL AND due >= ${since}`;
    const first = sql`
      WITH RECURSIVE first AS (
        (SELECT instance_id, due FROM chancery.outcome WHERE ${pending} ORDER BY instance_id, due LIMIT 1)
        UNION ALL
        SELECT next.instance_id, next.due FROM first, LATERAL (
          SELECT instance_id, due FROM chancery.outcome
          WHERE ${pending} AND instance_id > first.instance_id ORDER BY instance_id, due LIMIT 1
        ) next
      )
      SELECT instance_id, due FROM first`;
    const rows = await database.tuples(foundByKeys(first));
    // The listener stores the due times of instances, so the next poll need not find the same again.
    this.#floor.note(now, undefined);
    for (const [instanceId, due] of rows) onPending(String(instanceId), Number(due), 'all');
  }
}

/** Selects the instances with endpoints that are to be reconciled. */
function reconcilesDue(now: number): Sql {
  return sql`SELECT m.instance_id FROM chancery.lane m WHERE m.reconcile_at <= ${now} AND EXISTS (
    SELECT 1 FROM chancery.endpoint p WHERE p.instance_id = m.instance_id AND p.position = m.endpoint AND p.status = 'active' AND p.deleted = '')`;
}
