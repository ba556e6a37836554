import { sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

// Not WITHOUT ROWID: the index of ids is then small, and rows are counted by it without being read.
const log = sql`CREATE TABLE "$log" (
  id TEXT PRIMARY KEY,
  created TEXT NOT NULL,
  level INTEGER NOT NULL,
  message TEXT NOT NULL,
  data TEXT NOT NULL
) STRICT`;
const created = sql`CREATE INDEX "$log_created" ON "$log" (created)`;

/** The schema of `logs.db`: the request log of one instance, apart from its data because only that is synced with each commit. */
export const logMigrations: readonly Migration[] = [{ name: 'logs', statements: () => [log, created] }];
