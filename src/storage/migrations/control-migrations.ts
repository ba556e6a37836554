import { sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';
import { backupJobs } from './backup-jobs.ts';
import { cronRuns } from './cron-runs.ts';
import { instanceLife } from './instance-life.ts';
import { instanceQuotas } from './instance-quotas.ts';
import { operatorEndpoints } from './operator-endpoints.ts';
import { operatorTables } from './operator-tables.ts';
import { schemaJobs } from './schema-jobs.ts';
import { usageSizes } from './usage-sizes.ts';
import { usageTable } from './usage-table.ts';

/** The schema of `control.db`: which instances there are, and what belongs to the whole service. */
export const controlMigrations: readonly Migration[] = [
  {
    name: 'instances',
    statements: () => [
      sql`CREATE TABLE "$instance" (
        position INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        slug TEXT NOT NULL UNIQUE,
        host TEXT UNIQUE,
        created TEXT NOT NULL
      ) STRICT`,
      sql`CREATE TABLE "$setting" (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID`,
    ],
  },
  {
    name: 'work that is due',
    statements: () => [
      sql`CREATE TABLE "$due" (instance TEXT PRIMARY KEY, webhooks INTEGER, upkeep INTEGER) STRICT, WITHOUT ROWID`,
      sql`CREATE TABLE "$command" (instance TEXT, command TEXT, PRIMARY KEY (instance, command)) STRICT, WITHOUT ROWID`,
      sql`CREATE TABLE "$upgrade" (instance TEXT PRIMARY KEY) STRICT, WITHOUT ROWID`,
    ],
    admits: 1,
  },
  instanceLife,
  instanceQuotas,
  backupJobs,
  operatorTables,
  usageTable,
  schemaJobs,
  operatorEndpoints,
  usageSizes,
  cronRuns,
];
