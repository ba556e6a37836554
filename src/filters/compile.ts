import type { Sql } from '../sql/sql.ts';
import { balance } from './balance.ts';
import { compileComparison } from './compile-comparison.ts';
import type { FilterContext } from './resolve-term.ts';
import type { FilterTree } from './tree.ts';

/**
 * Compiles a filter to a condition. All values are parameters and the text depends only on the filter's shape, so that statements can
 * be cached by text. Throws a filter error for names and functions that do not exist.
 */
export function compileFilter(tree: FilterTree, context: FilterContext): Sql {
  if (tree.kind === 'comparison') return compileComparison(tree, context);
  const items = tree.items.map((item) => compileFilter(item, context));
  return balance(items, tree.kind === 'and' ? ' AND ' : ' OR ');
}
