import { sql, type Sql } from '../../sql/sql.ts';
import type { Access, Tuple } from '../database.ts';
import type { Answer, PostgresConnection } from './postgres-connection.ts';

/** The members of a node of EXPLAIN (FORMAT JSON) that are used here. */
interface PlanNode {
  readonly 'Node Type'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Filter?: string;
  readonly Plans?: readonly PlanNode[];
}

/** Explains a statement in a transaction of its own, so that its settings affect nothing else. */
export function explainWithoutScans(connection: PostgresConnection, statement: Sql): Promise<Answer<Tuple>> {
  const explained = sql`EXPLAIN (FORMAT JSON, COSTS OFF) ${statement}`;
  return connection.between(
    'BEGIN READ ONLY; SET LOCAL enable_seqscan = off',
    () => connection.tuples(explained),
    'ROLLBACK',
  );
}

/** Nodes that stop reading their input once a page is filled. */
const endsEarly = new Set(['Limit', 'Result', 'Subquery Scan', 'Incremental Sort']);

/**
 * Reads the JSON of EXPLAIN under `enable_seqscan = off`: a table that is scanned even so has no index that leads to the rows. A scan
 * without a filter that is not sorted does not count, as it ends with the page.
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
  // All other nodes, such as sorts, aggregates and joins, read their input to its end.
  const isEnding = endsEarly.has(type);
  return !isLed && plans.some((plan) => readsWhole(plan, isForAll || !isEnding));
}
