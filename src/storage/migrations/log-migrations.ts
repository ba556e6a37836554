import { sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

// Not WITHOUT ROWID: the index of ids is then small, and how many there are is counted in it without reading them.
const log = sql`CREATE TABLE "$log" (
  id TEXT PRIMARY KEY,
  created TEXT NOT NULL,
  level INTEGER NOT NULL,
  message TEXT NOT NULL,
  data TEXT NOT NULL
) STRICT`;
const created = sql`CREATE INDEX "$log_created" ON "$log" (created)`;

/** The schema of `logs.db`: the requests of one instance, apart from its data, whose commits are synced. */
export const logMigrations: readonly Migration[] = [{ name: 'logs', statements: () => [log, created] }];
