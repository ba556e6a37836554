import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { Watch } from '../base/watch.ts';
import { sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';

const sweepLimits = {
  intervalMs: 30_000,
  /** Of one statement, and statements of one sweep: what is left is for the next. */
  rowsMax: 5_000,
  statementsMax: 40,
  /** Of all instances. Beyond, those that end first are forgotten. */
  windowsMax: 1_000_000,
} as const;

export interface Sweeping {
  /** Over connections that no request can take. */
  readonly database: Database;
  /** The time by which windows end. */
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Clears away what nodes have counted together in windows that are over, now and from time to time. */
export async function startSweeping({ database, clock, logger }: Sweeping): Promise<Watch> {
  const look = (): Promise<void> => sweepWindows(database, clock.now());
  const onError = (error: unknown): void =>
    logger.warn('What was counted in windows that are over could not be cleared away; trying again.', {
      error,
    });
  await look();
  return new Watch({ intervalMs: sweepLimits.intervalMs, look, onError });
}

/** Once. All nodes do, and none waits for another: each leaves out what another is at. */
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
