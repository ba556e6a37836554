import { sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

/** The sizes of what instances store beside their data; null where they were not measured. */
export const usageSizes: Migration = {
  name: 'sizes in the usage of instances',
  statements: (engine) =>
    engine === 'sqlite'
      ? [
          sql`ALTER TABLE "$usage" ADD COLUMN file_bytes INTEGER`,
          sql`ALTER TABLE "$usage" ADD COLUMN log_bytes INTEGER`,
          sql`ALTER TABLE "$usage" ADD COLUMN disk_bytes INTEGER`,
        ]
      : [
          sql`ALTER TABLE chancery.usage ADD COLUMN file_bytes bigint, ADD COLUMN log_bytes bigint, ADD COLUMN disk_bytes bigint`,
        ],
  admits: 1,
};
