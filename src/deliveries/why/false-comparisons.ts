import { ruleInputOfCaller } from '../../access/rule-input.ts';
import { comparisonText, operandText, parseRule } from '../../access/rule.ts';
import { type Comparison, comparisonsOf, type FilterTree } from '../../filters/parse.ts';
import { type ComparedSide, findComparedValues, readSides } from '../../query/compared-values.ts';
import { baseAlias, type ScopeContext } from '../../query/record-scope.ts';
import type { Sql } from '../../sql/sql.ts';
import { filterScope, treeCondition } from '../../endpoints/endpoint-conditions.ts';
import type { Endpoint } from '../../endpoints/endpoint.ts';
import { type ChangeQuery, evaluateConditions, conditionContext, searchChange } from './change-query.ts';
import type { FalseComparison } from './explanation.ts';

/** Comparisons that are shown of one filter. */
const comparisonsMax = 20;
/** Conditions of one statement, and their text: parts that follow relations of an account repeat list rules. */
const conditionsMax = 100;
const textMax = 64 * 1024;

/**
 * Returns the parts of an endpoint's filter that were false for a change: of `&&` the parts that are false by themselves, or all of
 * them where none is, as they share a related record; of `||` all parts. Parts that the caller may not name are one entry without text and values.
 * Empty where it takes too long.
 */
export async function falseComparisons(
  query: ChangeQuery,
  endpoint: Pick<Endpoint, 'filter' | 'owner'>,
): Promise<readonly FalseComparison[]> {
  const tree = parseRule(endpoint.filter);
  const scope = filterScope(endpoint.owner, conditionContext(query));
  const parts = partsOf(tree);
  const answers = await evaluateParts(query, scope, parts);
  if (answers === undefined) return [];
  const isFalse = (part: FilterTree): boolean => part === tree || answers.get(part) === false;
  const causes = falseParts(tree, isFalse);
  const context = { query, scope, filter: endpoint.filter };
  const isVisible = (part: FilterTree): boolean => comparisonsOf(part).every((one) => mayName(context, one));
  const visible = causes.filter(isVisible);
  const comparisons: FalseComparison[] = [];
  for (const part of visible.slice(0, comparisonsMax)) comparisons.push(await show(context, part));
  return visible.length < causes.length ? [...comparisons, hidden] : comparisons;
}

const hidden: FalseComparison = { text: '', position: 0, isHidden: true, isOfNow: false, sides: [] };

interface ShowContext {
  readonly query: ChangeQuery;
  readonly scope: ScopeContext;
  readonly filter: string;
}

/** Returns the parts of a filter, those inside of others too, without itself. */
function partsOf(tree: FilterTree): readonly FilterTree[] {
  return tree.kind === 'comparison' ? [] : tree.items.flatMap((item) => [item, ...partsOf(item)]);
}

/** Evaluates each part by itself, as a filter of its own. */
async function evaluateParts(
  query: ChangeQuery,
  scope: ScopeContext,
  parts: readonly FilterTree[],
): Promise<ReadonlyMap<FilterTree, boolean> | undefined> {
  const answers = new Map<FilterTree, boolean>();
  let some: { readonly part: FilterTree; readonly condition: Sql }[] = [];
  let length = 0;
  const evaluate = async (): Promise<boolean> => {
    if (some.length === 0) return true;
    const results = await evaluateConditions(
      query,
      some.map(({ condition }) => condition),
    );
    for (const [index, { part }] of some.entries()) answers.set(part, results?.[index] === true);
    some = [];
    length = 0;
    return results !== undefined;
  };
  for (const part of parts) {
    const condition = treeCondition(part, { collection: query.collection, scope });
    some.push({ part, condition });
    length += condition.text.length;
    if ((some.length === conditionsMax || length > textMax) && !(await evaluate())) return undefined;
  }
  return (await evaluate()) ? answers : undefined;
}

/** Returns the parts of a false one that are to be named. */
function falseParts(tree: FilterTree, isFalse: (part: FilterTree) => boolean): readonly FilterTree[] {
  if (tree.kind === 'comparison') return [tree];
  const items = tree.items.filter(isFalse);
  // Each is true of one related record, but all of none.
  if (items.length === 0) return [tree];
  return items.flatMap((item) => falseParts(item, isFalse));
}

/** Whether the caller may read by the record API what the comparison names. */
function mayName({ query, scope }: ShowContext, comparison: Comparison): boolean {
  const input = ruleInputOfCaller(query.caller);
  const base = { collection: query.collection, alias: baseAlias };
  const values = findComparedValues({ ...scope, input }, base, comparison);
  return values !== undefined && !values.isGuarded;
}

/** Returns a part as it is shown, with the values that were compared: those that the filter's own author, or owner, may see. */
async function show(context: ShowContext, part: FilterTree): Promise<FalseComparison> {
  const { query, scope, filter } = context;
  const base = { collection: query.collection, alias: baseAlias };
  const { names } = query.database;
  const search = async (columns: readonly Sql[], rest: Sql) => searchChange(query, { columns, rest });
  const sides: ComparedSide[] = [];
  let isOfNow = false;
  for (const comparison of comparisonsOf(part).slice(0, comparisonsMax)) {
    const values = findComparedValues(scope, base, comparison);
    if (values === undefined) continue;
    isOfNow ||= values.isOfOther;
    const texts = [operandText(filter, comparison.left), operandText(filter, comparison.right)] as const;
    sides.push(...(await readSides({ names, search }, values, texts)));
  }
  return { text: textOf(filter, part), position: part.position, isHidden: false, isOfNow, sides };
}

/** Returns a part as it is written, but for blanks and comments between its comparisons. */
function textOf(filter: string, part: FilterTree): string {
  if (part.kind === 'comparison') return comparisonText(filter, part);
  const join = part.kind === 'and' ? ' && ' : ' || ';
  return part.items
    .map((item) => (item.kind === 'comparison' ? textOf(filter, item) : `(${textOf(filter, item)})`))
    .join(join);
}
