import { bindSlots, limit, sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';
import { whereAll } from './plan.ts';
import type { BoundList } from './run-list.ts';

/** An index leads to the rows, or some table has to be read from its beginning to its end. */
export type Access = 'index' | 'scan';

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
  const matches = sql`SELECT 1 FROM ${from}${whereAll(conditions)}`;
  const statement = isFiltered ? matches : sql`${matches} ORDER BY ${order}${limit(1)}`;
  const bound = bindSlots(statement, values);
  const { scanned, isSorted } = await database.names.readPlan(database, bound);
  // The scan of one table in the order of the list ends with the page, if no filter passes over rows.
  const isWhole = isFiltered || isSorted || scanned > 1;
  return scanned > 0 && isWhole ? 'scan' : 'index';
}
