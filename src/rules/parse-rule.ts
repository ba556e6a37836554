import { parseFilter } from '../filters/parse.ts';
import type { FilterTree } from '../filters/tree.ts';

/** Rules are asked with every request and change with hardly any. */
const known = new Map<string, FilterTree>();
/** Over all collections of all instances of a process; the map is emptied rather than kept in order. */
const knownMax = 10_000;

/** The filter that a rule is. Throws a filter error for one that does not parse. */
export function parseRule(rule: string): FilterTree {
  const found = known.get(rule);
  if (found !== undefined) return found;
  if (known.size >= knownMax) known.clear();
  const tree = parseFilter(rule);
  known.set(rule, tree);
  return tree;
}
