import { type Caller, operator } from '../access/caller.ts';
import { ruleInputOfCaller } from '../access/rule-input.ts';
import { BrokenRule } from '../access/rule.ts';
import { AppError } from '../base/errors.ts';
import type { Collections } from '../collections/collection-store.ts';
import { type Collection, emitsEvents } from '../collections/collection.ts';
import type { RecordChange } from '../events/event.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { fieldType } from '../fields/field-types.ts';
import { allOf, always } from '../filters/compile/compile.ts';
import { comparisonsOf, type FilterTree, type OperandNode, parseFilter } from '../filters/parse.ts';
import { inlineColumns } from '../query/inline-columns.ts';
import { baseAlias, RecordScope, type ScopeContext } from '../query/record-scope.ts';
import { bindRule, type BoundRule, conditionOf, wholeFilter } from '../query/rule-plan.ts';
import { identifier, joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Names, Reader } from '../storage/database.ts';
import type { EndpointSettings } from './endpoint-options.ts';
import { isHeldBy } from './held-records.ts';

/**
 * The conditions under which an endpoint receives a change. They are evaluated in the transaction of the change, for the state after it:
 *
 * - its filter, in the grammar of lists, which may also name the previous state (`@old.status`) and whether a field changed
 *   (`status:changed`). Before a record is made, all its fields have their zero values.
 * - that its owner may view the record, where it has one.
 */
export interface ConditionContext {
  readonly collections: Collections;
  readonly names: Names;
  /** Milliseconds since 1970, for macros such as `@now`. */
  readonly now: number;
  /** The author of the filter, who decides what it may name; absent for one that was checked when it was saved. */
  readonly author?: Caller;
  /** Whether the filter was stored before, and is not new. */
  readonly isStored?: boolean;
}

export type Conditional = Pick<EndpointSettings, 'filter' | 'owner' | 'collections'> & {
  /** The number of an endpoint with transitions: by it, what it holds is found. */
  readonly transitions?: boolean;
  readonly number?: number;
};

export function hasConditions({ filter, owner }: Pick<EndpointSettings, 'filter' | 'owner'>): boolean {
  return filter !== '' || owner !== '';
}

/** Whether a filter that can be parsed names the state before a change, or what it changed. */
export function isAboutChange(filter: string): boolean {
  if (filter === '') return false;
  const isAbout = (node: OperandNode): boolean => {
    if (node.kind === 'call') return node.arguments.some(isAbout);
    return node.kind === 'identifier' && (node.name.startsWith('@old.') || node.name.endsWith(':changed'));
  };
  return comparisonsOf(parseFilter(filter)).some(({ left, right }) => isAbout(left) || isAbout(right));
}

/** Returns the problem of an endpoint's filter in one of its collections, or without names in all of them; undefined if there is none. */
export function filterProblem(endpoint: Conditional, context: ConditionContext): AppError | undefined {
  if (endpoint.filter === '') return undefined;
  const all = context.collections.all();
  const only = endpoint.collections;
  const targets = only.length === 0 ? all.filter(emitsEvents) : all.filter(({ id }) => only.includes(id));
  const compiled = targets.map((collection) => filterCondition(endpoint, collection, context));
  const problem = compiled.find((one) => one instanceof AppError);
  const fits = compiled.some((one) => !(one instanceof AppError));
  return only.length > 0 || !fits ? problem : undefined;
}

/** How a change relates to endpoints, by their numbers. */
export interface ConditionAnswers {
  /** Those whose conditions it meets. */
  readonly matches: readonly number[];
  /** Those with transitions that hold its record. */
  readonly holders: readonly number[];
}

/**
 * Returns the endpoints whose conditions a change meets, and those with transitions that hold its record, by one statement. One with an
 * invalid filter is paused, and collects all events until it has another: no delivery is lost.
 */
export async function meetConditions(
  reader: Reader,
  endpoints: readonly (Conditional & { readonly number: number })[],
  { change, ...parts }: Omit<ConditionContext, 'names'> & { readonly change: RecordChange },
): Promise<ConditionAnswers> {
  const { names } = reader;
  const { collection, before, after } = change;
  const context = { ...parts, names, isStored: true };
  const conditions = endpoints.flatMap((endpoint) => {
    const { number, transitions = false } = endpoint;
    const condition = endpointCondition(endpoint, collection, context);
    const isHolder = isHeldBy(names, { endpoint: number, collection: collection.id });
    return [
      ...(condition === undefined ? [] : [{ number, of: 'matches', condition }]),
      ...(transitions ? [{ number, of: 'holders', condition: isHolder }] : []),
    ];
  });
  if (conditions.length === 0) return { matches: [], holders: [] };
  const columns = conditions.map(({ condition }) => sql`CASE WHEN ${condition} THEN 1 ELSE 0 END`);
  const old = before ?? collection.fields.map((field): StoredValue => fieldType(field).zero(field.options));
  const rows = await reader.search(sql`
    SELECT ${joinSql(columns, ', ')} FROM (SELECT ${inlineColumns(collection, after, names)}) AS ${baseAlias},
      (SELECT ${inlineColumns(collection, old, names)}) AS ${beforeAlias}`);
  const answers = conditions.filter((_, index) => Number(rows[0]?.[index]) === 1);
  const numbersOf = (name: keyof ConditionAnswers): readonly number[] =>
    answers.flatMap(({ number, of }) => (of === name ? [number] : []));
  return { matches: numbersOf('matches'), holders: numbersOf('holders') };
}

/** The alias of the row with the values before a change. */
export const beforeAlias = identifier('$before');
const ownerAlias = identifier('$owner');

/** Returns the condition on a change of a record of the collection; undefined where the endpoint receives none. */
export function endpointCondition(
  endpoint: Conditional,
  collection: Collection,
  context: ConditionContext,
): Sql | undefined {
  const { filter, owner, collections, transitions = false, number } = endpoint;
  const isOwners = owner === '' ? always : ownerCondition(owner, collection, context);
  const isMet = filter === '' ? always : filterCondition(endpoint, collection, context);
  if (isOwners === undefined) return undefined;
  if (!(isMet instanceof AppError)) return allOf([isOwners, isMet]);
  // The filter of an endpoint for all collections need not fit each of them.
  const isBroken = collections.length > 0 || filterProblem(endpoint, context) !== undefined;
  if (!isBroken || !transitions || number === undefined) return isBroken ? isOwners : undefined;
  // It collects the changes of what it holds, and is reconciled when it has another filter.
  return allOf([isOwners, isHeldBy(context.names, { endpoint: number, collection: collection.id })]);
}

/** Returns the condition of an endpoint's filter on changes of records of the collection, or its problem there. */
export function filterCondition(
  { filter, owner }: Conditional,
  collection: Collection,
  context: ConditionContext,
): Sql | AppError {
  try {
    return conditionOf(bindFilter({ filter, owner }, collection, context));
  } catch (error) {
    if (error instanceof AppError && error.code === 'bad_request') return error;
    throw error;
  }
}

function bindFilter(
  { filter, owner }: Pick<Conditional, 'filter' | 'owner'>,
  collection: Collection,
  context: ConditionContext,
): BoundRule {
  const { input, now, before, isStored } = filterScope(owner, context);
  return bindRule(context, { collection, filter: wholeFilter(filter), before, isStored }, { input, now });
}

/** Returns the scope of the names in an endpoint's filter: what its owner may name, or without an owner its author. */
export function filterScope(owner: string, context: ConditionContext): ScopeContext {
  const { author = operator } = context;
  return {
    ...context,
    input: ruleInputOfCaller(owner === '' ? author : ownerOf(owner)),
    before: beforeAlias,
  };
}

/** Returns the condition of a filter, or of a part of one, on changes of records of the collection. Throws a filter error. */
export function treeCondition(
  tree: FilterTree,
  { collection, scope: context }: { readonly collection: Collection; readonly scope: ScopeContext },
): Sql {
  const scope = new RecordScope(context, { collection, alias: baseAlias });
  scope.addFilter(tree);
  return scope.condition ?? always;
}

/** Returns the condition that the owner exists and may view the record; undefined where only superusers may. */
export function ownerCondition(
  owner: string,
  collection: Collection,
  context: ConditionContext,
): Sql | undefined {
  const caller = ownerOf(owner);
  const accounts = context.collections.find(caller.collectionId);
  const rule = collection.rules.viewRule;
  if (accounts?.type !== 'auth' || rule === null) return undefined;
  const table = context.names.collectionTable(accounts.name);
  const exists = sql`EXISTS (SELECT 1 FROM ${table} AS ${ownerAlias} WHERE ${ownerAlias}.id = ${caller.id})`;
  if (rule === '') return exists;
  try {
    return allOf([exists, conditionOf(bindOwner({ caller, rule }, collection, context))]);
  } catch (error) {
    if (error instanceof BrokenRule) return undefined;
    throw error;
  }
}

function bindOwner(
  { caller, rule }: { readonly caller: Caller; readonly rule: string },
  collection: Collection,
  context: ConditionContext,
): BoundRule {
  return bindRule(context, { collection, rule }, { input: ruleInputOfCaller(caller), now: context.now });
}

/** What decides whether a record matches besides the record, and whether its owner exists. */
export interface ConditionSources {
  /** The ids of collections whose records may decide: perhaps too many, never too few. */
  readonly collections: readonly string[];
  readonly usesTime: boolean;
}

export function conditionSources(
  { filter, owner }: Conditional,
  collection: Collection,
  context: ConditionContext,
): ConditionSources {
  const { collections, names } = context;
  const { viewRule } = collection.rules;
  const bindings = [
    ...(filter === '' ? [] : [() => bindFilter({ filter, owner }, collection, context)]),
    ...(owner === '' || viewRule === null || viewRule === ''
      ? []
      : [() => bindOwner({ caller: ownerOf(owner), rule: viewRule }, collection, context)]),
  ];
  const plans = bindings.flatMap((bind) => {
    try {
      return [bind().plan];
    } catch (error) {
      // What is invalid is so whatever other records say.
      if (error instanceof BrokenRule || (error instanceof AppError && error.code === 'bad_request'))
        return [];
      throw error;
    }
  });
  // No value becomes text, so a table that is read is named in it; a field may have the same name.
  const isRead = ({ name }: Collection): boolean =>
    plans.some(({ condition }) => condition.text.includes(names.collectionTable(name).text));
  return {
    collections: collections.all().flatMap((one) => (isRead(one) ? [one.id] : [])),
    usesTime: plans.some(({ inputs }) => inputs.usesTime),
  };
}

/** Returns the account that `<id of the collection>/<id of the record>` names. */
export function ownerOf(owner: string): Extract<Caller, { kind: 'user' }> {
  const [collectionId = '', id = ''] = owner.split('/');
  return { kind: 'user', id, collectionId };
}
