import { sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

/**
 * Runs of the scheduled jobs of instances. `slot` is the time of the schedule that was run last, in milliseconds since 1970. One process at
 * a time runs a job: `holder`, until `held_until`.
 */
export const cronRuns: Migration = {
  name: 'runs of scheduled jobs',
  statements: (engine) => [
    engine === 'sqlite'
      ? sql`CREATE TABLE "$cron_run" (
          id TEXT PRIMARY KEY,
          instance TEXT NOT NULL,
          slot INTEGER NOT NULL,
          holder TEXT NOT NULL,
          held_until INTEGER NOT NULL,
          state TEXT NOT NULL
        ) STRICT, WITHOUT ROWID`
      : sql`CREATE TABLE chancery.cron_run (
          id text COLLATE "C" PRIMARY KEY,
          instance text COLLATE "C" NOT NULL,
          slot bigint NOT NULL,
          holder text COLLATE "C" NOT NULL,
          held_until bigint NOT NULL,
          state text COLLATE "C" NOT NULL
        )`,
  ],
  admits: 1,
};
