import { sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

/** What the operator lets an instance use (instances/quotas.ts), as JSON. */
export const instanceQuotas: Migration = {
  name: 'quotas of instances',
  statements: (engine) => [
    engine === 'sqlite'
      ? sql`ALTER TABLE "$instance" ADD COLUMN quotas TEXT NOT NULL DEFAULT '{}'`
      : sql`ALTER TABLE chancery.instance ADD COLUMN quotas text COLLATE "C" NOT NULL DEFAULT '{}'`,
  ],
  admits: 1,
};
