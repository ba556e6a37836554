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
    return withoutFurtherPartitions(rows.map(([line]) => String(line)));
  });
}

/** Leaves out how the further partitions of a table are read, as that is how the first one is; how many there are, the time decides. */
function withoutFurtherPartitions(lines: readonly string[]): readonly string[] {
  const left: string[] = [];
  /** The table that the node at each depth is a partition of. */
  const tables = new Map<number, string>();
  let skippedDepth = Number.POSITIVE_INFINITY;
  for (const line of lines) {
    const depth = line.search(/\S/);
    if (depth > skippedDepth) continue;
    skippedDepth = Number.POSITIVE_INFINITY;
    const table = /-> .* on (event|delivery|outcome|attempt)_\d+\b/.exec(line)?.[1];
    if (table !== undefined && tables.get(depth) === table) skippedDepth = depth;
    else left.push(line);
    for (const deeper of tables.keys()) if (deeper > depth) tables.delete(deeper);
    if (table === undefined) tables.delete(depth);
    else tables.set(depth, table);
  }
  return left;
}
