import type { Sql } from '../sql/sql.ts';
import { balance } from './balance.ts';
import { compileComparison } from './compile-comparison.ts';
import type { FilterContext } from './resolve-term.ts';
import type { FilterTree } from './tree.ts';

/**
 * The condition a filter stands for; all of its values are parameters. Its text depends on the shape of the filter alone, so
 * that statements can be kept by their text. Throws a filter error for what is unknown or not supported yet.
 */
export function compileFilter(tree: FilterTree, context: FilterContext): Sql {
  if (tree.kind === 'comparison') return compileComparison(tree, context);
  const items = tree.items.map((item) => compileFilter(item, context));
  return balance(items, tree.kind === 'and' ? ' AND ' : ' OR ');
}
