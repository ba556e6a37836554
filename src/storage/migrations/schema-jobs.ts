import { sql, type Sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

/** Jobs that bring many instances to one definition, and what came of each instance (operator/schema-jobs.ts). */
export const schemaJobs: Migration = {
  name: 'schema jobs',
  statements: (engine) => (engine === 'sqlite' ? sqliteTables : postgresTables),
  admits: 1,
};

const isRunning = sql`state = 'running'`;

const sqliteTables: readonly Sql[] = [
  sql`CREATE TABLE "$schema_job" (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    holder TEXT NOT NULL,
    held_until INTEGER NOT NULL,
    is_dry_run INTEGER NOT NULL,
    delete_missing INTEGER NOT NULL,
    stop_after INTEGER NOT NULL,
    is_cancelled INTEGER NOT NULL,
    collections TEXT NOT NULL,
    address TEXT NOT NULL,
    created TEXT NOT NULL,
    started TEXT NOT NULL,
    ended TEXT NOT NULL,
    total INTEGER NOT NULL
  ) STRICT`,
  // One of them runs at a time.
  sql`CREATE UNIQUE INDEX "$schema_job_running" ON "$schema_job" (state) WHERE ${isRunning}`,
  sql`CREATE TABLE "$schema_result" (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    job TEXT NOT NULL,
    instance TEXT NOT NULL,
    slug TEXT NOT NULL,
    state TEXT NOT NULL,
    changes TEXT NOT NULL,
    error TEXT NOT NULL,
    ended TEXT NOT NULL
  ) STRICT`,
  sql`CREATE INDEX "$schema_result_state" ON "$schema_result" (job, state, position)`,
  sql`CREATE UNIQUE INDEX "$schema_result_instance" ON "$schema_result" (job, instance)`,
];

const postgresTables: readonly Sql[] = [
  sql`CREATE TABLE chancery.schema_job (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    state text COLLATE "C" NOT NULL,
    holder text COLLATE "C" NOT NULL,
    held_until bigint NOT NULL,
    is_dry_run bigint NOT NULL,
    delete_missing bigint NOT NULL,
    stop_after bigint NOT NULL,
    is_cancelled bigint NOT NULL,
    collections text COLLATE "C" NOT NULL,
    address text COLLATE "C" NOT NULL,
    created text COLLATE "C" NOT NULL,
    started text COLLATE "C" NOT NULL,
    ended text COLLATE "C" NOT NULL,
    total bigint NOT NULL
  )`,
  sql`CREATE UNIQUE INDEX schema_job_running ON chancery.schema_job (state) WHERE ${isRunning}`,
  sql`CREATE TABLE chancery.schema_result (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job text COLLATE "C" NOT NULL,
    instance text COLLATE "C" NOT NULL,
    slug text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    changes text COLLATE "C" NOT NULL,
    error text COLLATE "C" NOT NULL,
    ended text COLLATE "C" NOT NULL
  )`,
  sql`CREATE INDEX schema_result_state ON chancery.schema_result (job, state, position)`,
  sql`CREATE UNIQUE INDEX schema_result_instance ON chancery.schema_result (job, instance)`,
];
