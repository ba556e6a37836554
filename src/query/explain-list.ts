import { bindSlots, explanation, limit, sql, type Sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';
import { whereAll } from './plan.ts';
import type { BoundList } from './run-list.ts';

/** An index leads to the rows, or some table has to be read from its beginning to its end. */
export type Access = 'index' | 'scan';

interface Plan {
  /** How many tables no index leads into. They are read from their beginning, perhaps in the order of an index. */
  readonly scanned: number;
  /** Whether all rows are sorted before the first one is known. */
  readonly isSorted: boolean;
}

/**
 * Returns how the engine finds the rows that the filter leaves or, without one, the first row in the list's order. Not those of the
 * page: for a few rows an engine may walk an index in the list's order rather than use one for the filter.
 */
export async function explainList(
  database: Database,
  { plan, values }: BoundList,
  isFiltered: boolean,
): Promise<Access> {
  const { from, conditions, order } = plan.select;
  const found = sql`SELECT 1 FROM ${from}${whereAll(conditions)}`;
  const statement = isFiltered ? found : sql`${found} ORDER BY ${order}${limit(1)}`;
  const planOf = database.engine === 'sqlite' ? sqlitePlan : postgresPlan;
  const { scanned, isSorted } = await planOf(database, bindSlots(statement, values));
  // The scan of one table in the order of the list ends with the page, if no filter passes over rows.
  const isWhole = isFiltered || isSorted || scanned > 1;
  return scanned > 0 && isWhole ? 'scan' : 'index';
}

/** Matches a table that is read from its beginning, but no subquery, list of constants or table-valued function. */
const SCAN = /^SCAN (?!\(|CONSTANT|\d+ CONSTANT)\S+(?!.* VIRTUAL TABLE)/;

/** See https://www.sqlite.org/eqp.html. */
async function sqlitePlan(database: Database, statement: Sql): Promise<Plan> {
  const rows = await database.all(explanation(sql`EXPLAIN QUERY PLAN ${statement}`));
  const lines = rows.map((row) => String(row['detail']));
  const scanned = lines.filter((line) => SCAN.test(line)).length;
  return { scanned, isSorted: lines.includes('USE TEMP B-TREE FOR ORDER BY') };
}

/** The members of a node of EXPLAIN (FORMAT JSON) that are used here. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** A table that is scanned even under `enable_seqscan = off` has no index that leads to the rows. The setting ends with the transaction. */
async function postgresPlan(database: Database, statement: Sql): Promise<Plan> {
  const [row] = await database.write(async (tx) => {
    await tx.run(sql`SET LOCAL enable_seqscan = off`);
    return tx.tuples(sql`EXPLAIN (FORMAT JSON, COSTS OFF) ${statement}`);
  });
  // The shape that PostgreSQL documents for FORMAT JSON: an array with one plan.
  const tops = JSON.parse(String(row?.[0])) as readonly { readonly Plan: PlanNode }[];
  const nodes = tops.flatMap((top) => nodesOf(top.Plan));
  const scanned = nodes.filter((node) => node['Relation Name'] !== undefined && !isLed(node)).length;
  return { scanned, isSorted: nodes.some((node) => node['Node Type'] === 'Sort') };
}

function nodesOf(node: PlanNode): readonly PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

function isLed(node: PlanNode): boolean {
  return node['Index Cond'] !== undefined || node['Node Type'] === 'Bitmap Heap Scan';
}
