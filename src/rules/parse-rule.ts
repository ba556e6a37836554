import { GenerationMap } from '../base/generation-map.ts';
import { parseFilter } from '../filters/parse.ts';
import type { FilterTree } from '../filters/tree.ts';

/** Rules are asked with every request and change with hardly any. Over all collections of all instances of a process. */
const known = new GenerationMap<string, FilterTree>(5_000);

/** The filter that a rule is. Throws a filter error for one that does not parse. */
export function parseRule(rule: string): FilterTree {
  return known.findOrAdd(rule, parseFilter);
}
