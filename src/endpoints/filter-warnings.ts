import { type RuleTerm, ruleTerms } from '../access/rule.ts';
import { type Collection, emitsEvents } from '../collections/collection.ts';
import { isOperand, type Term } from '../filters/operand.ts';
import { findComparedValues } from '../query/compared-values.ts';
import { baseAlias, type ScopeContext } from '../query/record-scope.ts';
import { type Conditional, type ConditionContext, filterScope } from './endpoint-conditions.ts';

const warningsMax = 10;
const valuesMax = 10;

/**
 * Returns probable mistakes in an endpoint's filter, in words: a select that is compared with a text that is not one of its values.
 * Only for fields that the author of the context may name.
 */
export function filterWarnings(endpoint: Conditional, context: ConditionContext): readonly string[] {
  const { filter, owner, collections: only } = endpoint;
  if (filter === '') return [];
  const terms = ruleTerms(filter).filter(({ tree }) => tree.operator === '=' || tree.operator === '!=');
  const collections = context.collections
    .all()
    .filter((one) => (only.length === 0 ? emitsEvents(one) : only.includes(one.id)));
  const scope = filterScope(owner, { ...context, isStored: true });
  const warnings = new Set<string>();
  for (const collection of collections)
    for (const term of terms) {
      const warning = warningOf(term, { collection, scope });
      if (warning !== undefined) warnings.add(warning);
      if (warnings.size === warningsMax) return [...warnings];
    }
  return [...warnings];
}

function warningOf(
  { text, tree }: RuleTerm,
  { collection, scope }: { readonly collection: Collection; readonly scope: ScopeContext },
): string | undefined {
  const [left, right] = findComparedValues(scope, { collection, alias: baseAlias }, tree)?.sides ?? [];
  const mismatch = unknownChoice(left, right) ?? unknownChoice(right, left);
  if (mismatch === undefined) return undefined;
  const { value, choices } = mismatch;
  const examples = choices.slice(0, valuesMax).join(', ') + (choices.length > valuesMax ? ', …' : '');
  return `${text}: ${JSON.stringify(value)} is not a value of this field of ${collection.name}. Its values are ${examples}.`;
}

function unknownChoice(
  side: Term | undefined,
  other: Term | undefined,
): { readonly value: string; readonly choices: readonly string[] } | undefined {
  if (side === undefined || !isOperand(side) || side.choices === undefined) return undefined;
  const { choices } = side;
  const isUnknown = typeof other === 'string' && other !== '' && !choices.includes(other);
  return isUnknown ? { value: other, choices } : undefined;
}
