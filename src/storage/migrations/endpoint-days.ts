import { sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

/** How many deliveries of an endpoint ended how on which day, those that were delivered by the time since their commit. */
export const endpointDays: Migration = {
  name: 'figures of endpoints by days',
  statements: (engine) => [
    engine === 'sqlite'
      ? sql`CREATE TABLE "$endpoint_day" (
          endpoint INTEGER NOT NULL,
          day INTEGER NOT NULL,
          result TEXT NOT NULL,
          latency INTEGER NOT NULL,
          count INTEGER NOT NULL,
          PRIMARY KEY (endpoint, day, result, latency)
        ) STRICT, WITHOUT ROWID`
      : sql`CREATE TABLE chancery.endpoint_day (
          instance_id text COLLATE "C" NOT NULL,
          endpoint bigint NOT NULL,
          day bigint NOT NULL,
          result text COLLATE "C" NOT NULL,
          latency bigint NOT NULL,
          count bigint NOT NULL,
          PRIMARY KEY (instance_id, endpoint, day, result, latency)
        ) WITH (fillfactor = 50)`,
  ],
  admits: 1,
};
