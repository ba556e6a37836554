import { sql, type Sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

/**
 * Endpoints with transitions: the keys of the records that each of them holds, that is, was sent and not told to delete. `is_stale`: a state
 * of the record was withheld from it. `reconcile_at` of a lane is when its keys are to be compared with the records, in milliseconds since
 * 1970; `record` of a replay is where it stands among the keys.
 */
export const mirrors: Migration = {
  name: 'what endpoints hold',
  statements: (engine) => (engine === 'sqlite' ? sqliteTables : postgresTables),
  admits: 1,
};

const sqliteTables: readonly Sql[] = [
  sql`ALTER TABLE "$endpoint" ADD COLUMN transitions TEXT NOT NULL DEFAULT 'false'`,
  sql`CREATE TABLE "$held" (
    endpoint INTEGER NOT NULL,
    collection TEXT NOT NULL,
    record TEXT NOT NULL,
    is_stale INTEGER NOT NULL,
    PRIMARY KEY (endpoint, collection, record)
  ) STRICT, WITHOUT ROWID`,
  sql`ALTER TABLE "$lane" ADD COLUMN reconcile_at INTEGER`,
  sql`ALTER TABLE "$replay" ADD COLUMN record TEXT NOT NULL DEFAULT ''`,
];

const postgresTables: readonly Sql[] = [
  sql`ALTER TABLE chancery.endpoint ADD COLUMN transitions text COLLATE "C" NOT NULL DEFAULT 'false'`,
  sql`CREATE TABLE chancery.held (
    instance_id text COLLATE "C" NOT NULL,
    endpoint bigint NOT NULL,
    collection text COLLATE "C" NOT NULL,
    record text COLLATE "C" NOT NULL,
    is_stale bigint NOT NULL,
    PRIMARY KEY (instance_id, endpoint, collection, record)
  )`,
  sql`ALTER TABLE chancery.lane ADD COLUMN reconcile_at bigint`,
  sql`CREATE INDEX lane_reconcile ON chancery.lane (reconcile_at) WHERE reconcile_at IS NOT NULL`,
  sql`ALTER TABLE chancery.replay ADD COLUMN record text COLLATE "C" NOT NULL DEFAULT ''`,
];
