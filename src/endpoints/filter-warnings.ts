import { type RuleTerm, ruleTerms } from '../access/rule.ts';
import { type Collection, emitsEvents } from '../collections/collection.ts';
import { nearestName } from '../fields/field-error.ts';
import { type Constants, isOperand, numberOfText, type Term } from '../filters/operand.ts';
import { findComparedValues } from '../query/compared-values.ts';
import { baseAlias, type ScopeContext } from '../query/record-scope.ts';
import { type Conditional, type ConditionContext, filterScope } from './endpoint-conditions.ts';

const warningsMax = 10;
const valuesMax = 10;

/**
 * Returns probable mistakes in an endpoint's filter, in words: a select that is compared with a text that is not one of its values, and a
 * number or bool with what it never equals.
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
  const problem = mismatchOf(left, right) ?? mismatchOf(right, left);
  return problem === undefined ? undefined : `${text}: ${problem(collection.name)}`;
}

/** Returns what is wrong with a constant that a field can never equal, in words for a collection. A text beside a date that is none is an error. */
function mismatchOf(
  side: Term | Constants | undefined,
  other: Term | Constants | undefined,
): ((collection: string) => string) | undefined {
  if (side === undefined || !isOperand(side) || other === undefined || other === '') return undefined;
  if (typeof other !== 'string' && typeof other !== 'number') return undefined;
  const { kind, choices } = side;
  const value = JSON.stringify(other);
  if (choices !== undefined)
    return typeof other !== 'string' || choices.includes(other)
      ? undefined
      : (collection) =>
          `${value} is not a value of this field of ${collection}. Its values are ${examplesOf(choices)}.${suggestionOf(other, choices)}`;
  const number = typeof other === 'string' ? numberOfText(other) : other;
  const never = (expected: string) => (collection: string) =>
    `this field of ${collection} is never ${value}. Compare it with ${expected}.`;
  if (kind === 'number' && number === undefined) return never('a number');
  if (kind === 'bool' && number !== 0 && number !== 1) return never('true or false');
  return undefined;
}

function examplesOf(choices: readonly string[]): string {
  return choices.slice(0, valuesMax).join(', ') + (choices.length > valuesMax ? ', …' : '');
}

function suggestionOf(value: string, choices: readonly string[]): string {
  const nearest = nearestName(value, choices);
  return nearest === undefined ? '' : ` Did you mean ${nearest}?`;
}
