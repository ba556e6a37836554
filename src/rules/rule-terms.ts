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

/** What a rule consists of, in the order in which it is written. Throws a filter error. */
export function ruleTerms(rule: string): readonly RuleTerm[] {
  return comparisonsOf(parseRule(rule)).map((tree) => {
    const { position } = tree;
    return { text: rule.slice(position, endOf(rule, position)), position, tree };
  });
}

function comparisonsOf(tree: FilterTree): readonly Comparison[] {
  return tree.kind === 'comparison' ? [tree] : tree.items.flatMap(comparisonsOf);
}

/** Behind the last token of the comparison that begins here: what joins it to others, or closes around it, comes next. */
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
