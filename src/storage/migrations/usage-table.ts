import { sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

/**
 * What instances have used (logs/add-usage.ts), by hours and by days, which begin at `at`. Rows stay when their instance is removed: a bill may still
 * have to be made.
 */
export const usageTable: Migration = {
  name: 'usage of instances',
  statements: (engine) => (engine === 'sqlite' ? sqliteStatements : postgresStatements),
  admits: 1,
};

const sqliteStatements = [
  sql`CREATE TABLE "$usage" (
    step TEXT NOT NULL,
    instance TEXT NOT NULL,
    at INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    writes INTEGER NOT NULL,
    events INTEGER NOT NULL,
    deliveries INTEGER NOT NULL,
    sent_bytes INTEGER NOT NULL,
    realtime_connections INTEGER NOT NULL,
    records INTEGER,
    data_bytes INTEGER,
    PRIMARY KEY (step, instance, at)
  ) STRICT, WITHOUT ROWID`,
  sql`CREATE INDEX "$usage_at" ON "$usage" (step, at)`,
];

const postgresStatements = [
  sql`CREATE TABLE chancery.usage (
    step text COLLATE "C" NOT NULL,
    instance text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    requests bigint NOT NULL,
    writes bigint NOT NULL,
    events bigint NOT NULL,
    deliveries bigint NOT NULL,
    sent_bytes bigint NOT NULL,
    realtime_connections bigint NOT NULL,
    records bigint,
    data_bytes bigint,
    PRIMARY KEY (step, instance, at)
  )`,
  sql`CREATE INDEX usage_at ON chancery.usage (step, at)`,
];
