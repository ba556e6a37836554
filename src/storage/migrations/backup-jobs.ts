import { sql, type Sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

/** Backups and restores, as rows that any process can take up (transfer/jobs/job-store.ts), and when the next scheduled ones are due. */
export const backupJobs: Migration = {
  name: 'backups and restores',
  statements: (engine) => (engine === 'sqlite' ? sqliteTables : postgresTables),
  admits: 1,
};

const isOpen = sql`state IN ('waiting', 'running')`;

const sqliteTables: readonly Sql[] = [
  sql`CREATE TABLE "$transfer" (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    instance TEXT NOT NULL,
    kind TEXT NOT NULL,
    backup TEXT NOT NULL,
    place TEXT NOT NULL,
    is_auto INTEGER NOT NULL,
    state TEXT NOT NULL,
    holder TEXT NOT NULL,
    held_until INTEGER NOT NULL,
    requested TEXT NOT NULL,
    started TEXT NOT NULL,
    ended TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    message TEXT NOT NULL
  ) STRICT`,
  // An instance has one of them at a time.
  sql`CREATE UNIQUE INDEX "$transfer_open" ON "$transfer" (instance) WHERE ${isOpen}`,
  sql`CREATE INDEX "$transfer_instance" ON "$transfer" (instance, position)`,
  sql`CREATE TABLE "$backup_schedule" (
    instance TEXT PRIMARY KEY,
    cron TEXT NOT NULL,
    due INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
];

const postgresTables: readonly Sql[] = [
  sql`CREATE TABLE chancery.transfer (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    instance text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    backup text COLLATE "C" NOT NULL,
    place text COLLATE "C" NOT NULL,
    is_auto bigint NOT NULL,
    state text COLLATE "C" NOT NULL,
    holder text COLLATE "C" NOT NULL,
    held_until bigint NOT NULL,
    requested text COLLATE "C" NOT NULL,
    started text COLLATE "C" NOT NULL,
    ended text COLLATE "C" NOT NULL,
    bytes bigint NOT NULL,
    message text COLLATE "C" NOT NULL
  )`,
  sql`CREATE UNIQUE INDEX transfer_open ON chancery.transfer (instance) WHERE ${isOpen}`,
  sql`CREATE INDEX transfer_instance ON chancery.transfer (instance, position)`,
  sql`CREATE TABLE chancery.backup_schedule (
    instance text COLLATE "C" PRIMARY KEY,
    cron text COLLATE "C" NOT NULL,
    due bigint NOT NULL
  )`,
];
