import { joinSql, sql, type Sql } from '../../src/sql/sql.ts';
import type { Database } from '../../src/storage/database.ts';

const KEYWORD = /^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b/;

/**
 * The plan of a statement, a line each; empty for what has none. On PostgreSQL with `enable_seqscan` off: a small table is read
 * whole whatever indexes it has, and what counts is how a large one would be read.
 */
export async function explain(database: Database, statement: Sql): Promise<readonly string[]> {
  if (!KEYWORD.test(statement.text)) return [];
  if (database.engine === 'sqlite') {
    const rows = await database.tuples(sql`EXPLAIN QUERY PLAN ${statement}`);
    const depths = new Map<unknown, number>();
    return rows.map(([id, parent, , detail]) => {
      const depth = depths.get(parent) ?? 0;
      depths.set(id, depth + 1);
      return `${'  '.repeat(depth)}${String(detail)}`;
    });
  }
  return database.write(async (tx) => {
    await tx.run(sql`SET LOCAL enable_seqscan = off`);
    // A statement begins a line of its own in some files of ours.
    const rows = await tx.tuples(joinSql([sql`EXPLAIN (COSTS OFF)`, statement], ' '));
    return rows.map(([line]) => String(line));
  });
}
