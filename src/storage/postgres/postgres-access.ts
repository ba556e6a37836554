import { sql, type Sql } from '../../sql/sql.ts';
import type { Access, Tuple } from '../database.ts';
import type { Answer, PostgresConnection } from './postgres-connection.ts';

/** A node of EXPLAIN (FORMAT JSON), as far as it is asked here. */
interface PlanNode {
  readonly 'Node Type'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Filter?: string;
  readonly Plans?: readonly PlanNode[];
}

/** In a transaction of its own: what it sets, nobody else sees. */
export function explainWithoutScans(connection: PostgresConnection, statement: Sql): Promise<Answer<Tuple>> {
  const explained = sql`EXPLAIN (FORMAT JSON, COSTS OFF) ${statement}`;
  return connection.between(
    'BEGIN READ ONLY; SET LOCAL enable_seqscan = off',
    () => connection.tuples(explained),
    'ROLLBACK',
  );
}

/** Nodes that read no more of what is under them than is asked of them: a page's worth. */
const endsEarly = new Set(['Limit', 'Result', 'Subquery Scan', 'Incremental Sort']);

/**
 * From the JSON of EXPLAIN under `enable_seqscan = off`: a table that is read from its beginning even so has no index that would
 * lead to the rows. Read for its order alone, without a filter and without being sorted, it ends with the page.
 */
export function postgresAccess(explained: string): Access {
  // The shape that PostgreSQL documents for FORMAT JSON: an array with one plan.
  const [top] = JSON.parse(explained) as readonly { readonly Plan: PlanNode }[];
  return top !== undefined && readsWhole(top.Plan, false) ? 'scan' : 'index';
}

function readsWhole(node: PlanNode, isForAll: boolean): boolean {
  const type = node['Node Type'] ?? '';
  const isTable = node['Relation Name'] !== undefined;
  const isLed = node['Index Cond'] !== undefined || type === 'Bitmap Heap Scan' || type === 'Tid Scan';
  if (isTable && !isLed && (isForAll || node.Filter !== undefined)) return true;
  const plans = node.Plans ?? [];
  // What is sorted, counted or put beside something else is read to its end.
  const isEnding = endsEarly.has(type);
  return !isLed && plans.some((plan) => readsWhole(plan, isForAll || !isEnding));
}
