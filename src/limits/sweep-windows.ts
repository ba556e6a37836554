import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { Watch } from '../base/watch.ts';
import { sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';

const sweepLimits = {
  intervalMs: 30_000,
  /** Rows of one statement, and statements of one sweep: the next sweep deletes the rest. */
  rowsMax: 5_000,
  statementsMax: 40,
  /** Windows of all instances. Beyond this number, those that end first are deleted. */
  windowsMax: 1_000_000,
} as const;

export interface Sweeping {
  /** A database with connections of its own, which requests cannot use up. */
  readonly database: Database;
  /** The time by which windows end. */
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Deletes the shared windows that are over, now and then at an interval. */
export async function startSweeping({ database, clock, logger }: Sweeping): Promise<Watch> {
  const look = (): Promise<void> => sweepWindows(database, clock.now());
  const onError = (error: unknown): void =>
    logger.warn('What was counted in windows that are over could not be cleared away; trying again.', {
      error,
    });
  await look();
  return new Watch({ intervalMs: sweepLimits.intervalMs, look, onError });
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
    const gone = await database.tuples(sql`
      DELETE FROM chancery.limit_window WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM chancery.limit_window WHERE ends <= ${endsMax}
        ORDER BY ends LIMIT ${sweepLimits.rowsMax} FOR UPDATE SKIP LOCKED))
      RETURNING 1`);
    if (gone.length < sweepLimits.rowsMax) return;
  }
}
