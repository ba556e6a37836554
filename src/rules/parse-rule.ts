import { GenerationMap } from '../base/generation-map.ts';
import { parseFilter } from '../filters/parse.ts';
import type { FilterTree } from '../filters/tree.ts';

/** Parsed rules of all collections of all instances in this process: nearly every request asks a rule, and rules hardly ever change. */
const known = new GenerationMap<string, FilterTree>(5_000);

/** Parses a rule, which is a filter. Throws a filter error. */
export function parseRule(rule: string): FilterTree {
  return known.findOrAdd(rule, parseFilter);
}
