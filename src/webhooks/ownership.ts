import { sql, type Sql } from '../sql/sql.ts';

/**
 * Which instances this process delivers for. An instance's deliveries have one owner at a time, so that none is sent twice. On
 * SQLite the owner is the process that holds the data directory; on PostgreSQL the nodes divide the instances among themselves.
 */
export interface Ownership {
  owns(instanceId: string): boolean;
  /** A condition in SQL that holds while the instance is ours; every settlement includes it. */
  fence(instanceId: string): Sql;
}

const always = sql`TRUE`;

/** Owns every instance. */
export const soleOwnership: Ownership = { owns: () => true, fence: () => always };
