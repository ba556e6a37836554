import { sql, type Sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

/**
 * Batches: what an endpoint's option is, which batch a delivery that is pending was put into, and in which one each attempt was sent. A batch
 * is its members: the pending outcomes with its id, `batch_size` of them.
 */
export const batches: Migration = {
  name: 'batches of webhooks',
  statements: (engine) => (engine === 'sqlite' ? onSqlite : onPostgres),
  admits: 1,
};

const onSqlite: readonly Sql[] = [
  sql`ALTER TABLE "$endpoint" ADD COLUMN batch TEXT`,
  sql`ALTER TABLE "$outcome" ADD COLUMN batch TEXT`,
  sql`ALTER TABLE "$outcome" ADD COLUMN batch_size INTEGER`,
  sql`ALTER TABLE "$attempt" ADD COLUMN batch TEXT`,
  sql`ALTER TABLE "$attempt" ADD COLUMN batch_size INTEGER`,
  sql`CREATE INDEX "$outcome_batch" ON "$outcome" (endpoint, batch) WHERE batch IS NOT NULL AND status = 'pending'`,
];

const onPostgres: readonly Sql[] = [
  sql`ALTER TABLE chancery.endpoint ADD COLUMN batch text COLLATE "C"`,
  sql`ALTER TABLE chancery.outcome ADD COLUMN batch text COLLATE "C", ADD COLUMN batch_size bigint`,
  sql`ALTER TABLE chancery.attempt ADD COLUMN batch text COLLATE "C", ADD COLUMN batch_size bigint`,
  sql`CREATE INDEX outcome_batch ON chancery.outcome (instance_id, endpoint, batch) WHERE batch IS NOT NULL AND status = 'pending'`,
];
