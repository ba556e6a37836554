import { sql, type Sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

/**
 * The state of an instance (instances/instance-rows.ts), its labels, and what a deleted one gets back when it is restored. `change` grows
 * with each change of any row; a row that an older version has added has none.
 */
export const instanceLife: Migration = {
  name: 'the life of instances',
  statements: (engine) => (engine === 'sqlite' ? sqliteStatements : postgresStatements),
  admits: 1,
};

const sqliteStatements: readonly Sql[] = [
  sql`ALTER TABLE "$instance" ADD COLUMN state TEXT NOT NULL DEFAULT 'active'`,
  sql`ALTER TABLE "$instance" ADD COLUMN state_since TEXT NOT NULL DEFAULT ''`,
  sql`ALTER TABLE "$instance" ADD COLUMN labels TEXT NOT NULL DEFAULT '{}'`,
  sql`ALTER TABLE "$instance" ADD COLUMN shown_id TEXT NOT NULL DEFAULT ''`,
  sql`ALTER TABLE "$instance" ADD COLUMN key TEXT NOT NULL DEFAULT ''`,
  sql`ALTER TABLE "$instance" ADD COLUMN before_delete TEXT NOT NULL DEFAULT ''`,
  sql`ALTER TABLE "$instance" ADD COLUMN change INTEGER NOT NULL DEFAULT 0`,
  sql`CREATE INDEX "$instance_change" ON "$instance" (change)`,
];

const postgresStatements: readonly Sql[] = [
  sql`ALTER TABLE chancery.instance
    ADD COLUMN state text COLLATE "C" NOT NULL DEFAULT 'active',
    ADD COLUMN state_since text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN labels text COLLATE "C" NOT NULL DEFAULT '{}',
    ADD COLUMN shown_id text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN key text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN before_delete text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN change bigint NOT NULL DEFAULT 0`,
  sql`CREATE INDEX instance_change ON chancery.instance (change)`,
];
