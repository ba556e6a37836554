import { parseRule } from './parse-rule.ts';
import { scanToken } from '../filters/scan.ts';
import type { Comparison, FilterTree } from '../filters/tree.ts';

/** A comparison of a rule, as it was written. */
export interface RuleTerm {
  readonly text: string;
  /** Where it stands in the rule: UTF-16 units from 0. */
  readonly position: number;
  readonly tree: Comparison;
}

/** Returns the comparisons in a rule, in the order in which they are written. Throws a filter error. */
export function ruleTerms(rule: string): readonly RuleTerm[] {
  return comparisonsOf(parseRule(rule)).map((tree) => {
    const { position } = tree;
    return { text: rule.slice(position, endOf(rule, position)), position, tree };
  });
}

function comparisonsOf(tree: FilterTree): readonly Comparison[] {
  return tree.kind === 'comparison' ? [tree] : tree.items.flatMap(comparisonsOf);
}

/**
 * Returns where the comparison that begins at `start` ends: behind its last token, before one that joins it to others or closes a
 * group around it.
 */
function endOf(rule: string, start: number): number {
  let end = start;
  for (let depth = 0; ;) {
    const token = scanToken(rule, end);
    if (token.kind === 'call') depth += 1;
    else if (depth === 0 && ['join', 'open', 'close', 'end'].includes(token.kind)) return end;
    else if (token.kind === 'close') depth -= 1;
    end = token.end;
  }
}
