/** Migrates `die-migrating.ts <file>` and dies between the steps of the one transaction. */

import { sql } from '../../src/sql/sql.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite-database.ts';

await migrate(openSqlite({ path: process.argv[2] ?? '' }), [
  {
    name: 'rows',
    statements: () => [
      sql`CREATE TABLE t (number INTEGER NOT NULL)`,
      // Large enough that the pages do not all wait in memory for the commit.
      sql`WITH RECURSIVE n(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM n WHERE number < 500000)
          INSERT INTO t SELECT number FROM n`,
    ],
  },
  {
    name: 'death',
    statements: () => {
      process.kill(process.pid, 'SIGKILL');
      return [];
    },
  },
]);
