import { sql, type Sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

/**
 * The deletes of records to which many others refer: a row for each delete, and one for each record that goes with it, in the order in
 * which they were found.
 */
export const removalJobs: Migration = {
  name: 'deletes of records in steps',
  statements: (engine) => (engine === 'sqlite' ? sqliteTables : postgresTables),
  admits: 1,
};

const sqliteTables: readonly Sql[] = [
  sql`CREATE TABLE "$job" (
    id TEXT PRIMARY KEY,
    origin TEXT NOT NULL,
    collection TEXT NOT NULL,
    record TEXT NOT NULL,
    state TEXT NOT NULL,
    found INTEGER NOT NULL,
    checked INTEGER NOT NULL,
    at_collection TEXT NOT NULL,
    at_position INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    cause TEXT NOT NULL,
    holder TEXT NOT NULL,
    held_until INTEGER NOT NULL,
    created TEXT NOT NULL,
    updated TEXT NOT NULL
  ) STRICT, WITHOUT ROWID`,
  sql`CREATE TABLE "$leaving" (
    collection TEXT NOT NULL,
    record TEXT NOT NULL,
    job TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (collection, record)
  ) STRICT, WITHOUT ROWID`,
  sql`CREATE INDEX "$leaving_job" ON "$leaving" (job, position)`,
];

const postgresTables: readonly Sql[] = [
  sql`CREATE TABLE chancery.job (
    instance_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    origin text COLLATE "C" NOT NULL,
    collection text COLLATE "C" NOT NULL,
    record text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    found bigint NOT NULL,
    checked bigint NOT NULL,
    at_collection text COLLATE "C" NOT NULL,
    at_position bigint NOT NULL,
    deleted bigint NOT NULL,
    changed bigint NOT NULL,
    cause text COLLATE "C" NOT NULL,
    holder text COLLATE "C" NOT NULL,
    held_until bigint NOT NULL,
    created text COLLATE "C" NOT NULL,
    updated text COLLATE "C" NOT NULL,
    PRIMARY KEY (instance_id, id)
  )`,
  sql`CREATE TABLE chancery.leaving (
    instance_id text COLLATE "C" NOT NULL,
    collection text COLLATE "C" NOT NULL,
    record text COLLATE "C" NOT NULL,
    job text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (instance_id, collection, record)
  )`,
  sql`CREATE INDEX leaving_job ON chancery.leaving (instance_id, job, position)`,
];
