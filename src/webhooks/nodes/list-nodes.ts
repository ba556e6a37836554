import { sql } from '../../sql/sql.ts';
import type { Database } from '../../storage/database.ts';

/** A node as the database knows it. */
export interface NodeView {
  readonly id: string;
  readonly version: string;
  readonly started: string;
  /** Seconds since its last sign of life. */
  readonly seenSeconds: number;
  readonly shards: number;
}

/** Returns the nodes of a PostgreSQL database and how many shards each has, the longest running first. */
export async function listNodes(control: Database): Promise<readonly NodeView[]> {
  const rows = await control.tuples(sql`
    SELECT n.id, n.version, to_char(n.started AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"'),
      extract(epoch FROM now() - n.seen)::double precision, count(l.shard)
    FROM chancery.node n LEFT JOIN chancery.shard_lease l ON l.node = n.id AND l.expires > now()
    GROUP BY n.id ORDER BY n.started, n.id`);
  return rows.map(([id, version, started, seen, shards]) => ({
    id: String(id),
    version: String(version),
    started: String(started),
    seenSeconds: Math.round(Number(seen) * 10) / 10,
    shards: Number(shards),
  }));
}
