import { sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

/** How many steps each node knows, so that a newer one sees which of them its own steps would not admit. Only on PostgreSQL. */
export const nodeSteps: Migration = {
  name: 'steps that nodes know',
  statements: () => [sql`ALTER TABLE chancery.node ADD COLUMN steps integer`],
  admits: 1,
};
