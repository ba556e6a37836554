import { sql, type Sql } from '../sql/sql.ts';

/**
 * Who delivers what. An instance's deliveries have one owner at a time, which is what keeps a delivery from being sent twice.
 * On SQLite it is whoever holds the data directory; on PostgreSQL the nodes divide the instances among themselves.
 */
export interface Ownership {
  owns(instanceId: string): boolean;
  /** True in the database for as long as the instance is ours: part of every settlement. */
  fence(instanceId: string): Sql;
}

const always = sql`TRUE`;

/** Everything is ours. */
export const soleOwnership: Ownership = { owns: () => true, fence: () => always };
