import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import type { Sealer } from '../secrets/seal.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';
import type { Limit, Window } from './window-counter.ts';

export interface WindowStoreOptions {
  readonly instanceId: string;
  readonly database: Database;
  readonly clock: Clock;
  readonly sealer: Sealer;
}

/** More than nodes' clocks differ by. A window that ends this much later than a new one is from before a clock was set back. */
const clockSlackMs = 10_000;

/** A statement that takes longer is late: far more than a busy database needs, and less than a client's patience. */
const waitMsDefault = 2_000;

/** The requests that are to be counted in one window. */
interface PendingCount extends Limit {
  /** Each is called once, in the order of the requests. */
  readonly resolves: ((window: Window | undefined) => void)[];
}

/**
 * The windows of one instance in the table that all nodes share. Each request is counted there. One statement runs at a time, and counts
 * all requests that came since the last one, so that a flood of clients is not a flood of statements. The table is unlogged: no
 * statement waits for a sync, and counts are worthless after a crash anyway.
 */
export class WindowStore {
  /** Distinguishes the store from all others that this process has open. */
  readonly id = newId();
  readonly #options: WindowStoreOptions;
  readonly #waitMsMax: number;
  #waiting = new Map<string, PendingCount>();
  #isRunning = false;
  /** True while the running statement has taken too long: until it ends, no request waits. */
  #isLate = false;

  constructor(options: WindowStoreOptions, waitMsMax = waitMsDefault) {
    this.#options = options;
    this.#waitMsMax = waitMsMax;
  }

  /** Counts one in a window, unless it is full. Undefined when the database does not answer in time. */
  take(key: string, { max, durationMs }: Limit): Promise<Window | undefined> {
    if (this.#isLate) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(key);
      if (waiting === undefined) this.#waiting.set(key, { max, durationMs, resolves: [resolve] });
      else waiting.resolves.push(resolve);
      // A microtask later, so that requests of the same turn share a statement.
      if (!this.#isRunning) queueMicrotask(() => void this.#run());
      this.#isRunning = true;
    });
  }

  /** Refunds one count of the window that ends at `endMs`. */
  async refund(key: string, endMs: number): Promise<void> {
    const update = sql`
      UPDATE chancery.limit_window SET taken = taken - 1
      WHERE instance_id = ${this.#options.instanceId} AND key = ${this.#hash(key)} AND ends = ${endMs}::bigint AND taken > 0`;
    // Where this fails, the window stays as full as it is: no reason to fail the request as well.
    await this.#options.database.tuples(update).catch(() => undefined);
  }

  /** A keyed hash, so that the table does not reveal whose keys they are. */
  #hash(key: string): string {
    return this.#options.sealer.fingerprint(key);
  }

  async #run(): Promise<void> {
    while (this.#waiting.size > 0) {
      const counted = new Map([...this.#waiting].map(([key, waiting]) => [this.#hash(key), waiting]));
      this.#waiting = new Map();
      const timer = setTimeout(() => {
        this.#isLate = true;
        for (const { resolves } of [...counted.values(), ...this.#waiting.values()])
          for (const resolve of resolves) resolve(undefined);
        this.#waiting.clear();
      }, this.#waitMsMax);
      // A failed statement counts as late: requests that are admitted now need the same database, and report its error.
      const rows = await this.#options.database.tuples(this.#countAll(counted)).catch(() => []);
      clearTimeout(timer);
      this.#isLate = false;
      for (const [key, endMs, admitted, used] of rows)
        settle(counted.get(String(key)), {
          endMs: Number(endMs),
          admitted: Number(admitted),
          used: Number(used),
        });
      if (rows.length === 0)
        for (const { resolves } of counted.values()) for (const resolve of resolves) resolve(undefined);
    }
    this.#isRunning = false;
  }

  /** Counts as many of the requests for each key as its window has room for. */
  #countAll(counted: ReadonlyMap<string, PendingCount>): Sql {
    const nowMs = this.#options.clock.now();
    const all = [...counted.values()];
    const goesOn = sql`held.ends > ${nowMs}::bigint AND held.ends <= EXCLUDED.ends + ${clockSlackMs}::bigint`;
    // All statements of all nodes lock rows in the order of their keys, so that no two can deadlock.
    return sql`
      INSERT INTO chancery.limit_window AS held (instance_id, key, ends, max, given, taken)
      SELECT ${this.#options.instanceId}, key, ends, max, least(max, count), least(max, count)
      FROM unnest(${arrayOf([...counted.keys()])}::text[],
        ${arrayOf(all.map(({ durationMs }) => nowMs + durationMs))}::bigint[],
        ${arrayOf(all.map(({ max }) => max))}::bigint[],
        ${arrayOf(all.map(({ resolves }) => resolves.length))}::bigint[]) AS counted (key, ends, max, count)
      ORDER BY key COLLATE "C"
      ON CONFLICT (instance_id, key) DO UPDATE SET
        ends = CASE WHEN ${goesOn} THEN held.ends ELSE EXCLUDED.ends END,
        given = CASE WHEN ${goesOn} THEN least(EXCLUDED.given, EXCLUDED.max - held.taken) ELSE EXCLUDED.given END,
        taken = CASE WHEN ${goesOn} THEN least(EXCLUDED.max, EXCLUDED.given + held.taken) ELSE EXCLUDED.given END
      RETURNING key, ends, given, taken`;
  }
}

interface Counted {
  /** Milliseconds since 1970. */
  readonly endMs: number;
  /** How many of the requests were counted, and how many are in the window now. */
  readonly admitted: number;
  readonly used: number;
}

function settle(waiting: PendingCount | undefined, { endMs, admitted, used }: Counted): void {
  for (const [index, resolve] of (waiting?.resolves ?? []).entries())
    resolve({ isAllowed: index < admitted, used: Math.min(used, used - admitted + index + 1), endMs });
}

/** An array in PostgreSQL's text form. Needs no quoting: values are numbers, or keys of letters, digits, `-` and `_`. */
function arrayOf(values: readonly (string | number)[]): string {
  return `{${values.join(',')}}`;
}

const sweepLimits = {
  intervalMs: 30_000,
  /** Rows of one statement, and statements of one sweep: the next sweep deletes the rest. */
  rowsMax: 5_000,
  statementsMax: 40,
  /** Windows of all instances. Beyond this number, the windows that end first are deleted. */
  windowsMax: 1_000_000,
} as const;

export interface Sweeping {
  /** A database with connections of its own, which requests cannot use up. */
  readonly database: Database;
  /** The time by which windows end. */
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Deletes expired shared windows, now and at an interval. */
export async function startSweeping({ database, clock, logger }: Sweeping): Promise<Poller> {
  const look = (): Promise<void> => sweepWindows(database, clock.now());
  const onError = (error: unknown): void =>
    logger.warn('Deleting expired rate limit windows failed; retrying.', {
      error,
    });
  await look();
  return new Poller({ intervalMs: sweepLimits.intervalMs, poll: look, onError });
}

/** Sweeps once. All nodes do so without waiting for each other, as each skips the rows that another has locked. */
export async function sweepWindows(
  database: Database,
  nowMs: number,
  windowsMax: number = sweepLimits.windowsMax,
): Promise<void> {
  const [last] = await database.tuples(
    sql`SELECT ends FROM chancery.limit_window ORDER BY ends DESC OFFSET ${windowsMax} LIMIT 1`,
  );
  const endsMax = Math.max(nowMs, Number(last?.[0] ?? 0));
  for (let count = 0; count < sweepLimits.statementsMax; count += 1) {
    const deletedRows = await database.tuples(sql`
      DELETE FROM chancery.limit_window WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM chancery.limit_window WHERE ends <= ${endsMax}
        ORDER BY ends LIMIT ${sweepLimits.rowsMax} FOR UPDATE SKIP LOCKED))
      RETURNING 1`);
    if (deletedRows.length < sweepLimits.rowsMax) return;
  }
}
