import { type Caller, callerForm } from '../access/caller.ts';
import { parseRule } from '../access/rule.ts';
import { GenerationCache } from '../base/cache.ts';
import type { CollectionFinder } from '../collections/collection-store.ts';
import type { Collection } from '../collections/collection.ts';
import { always, constantOf, never } from '../filters/compile/compile.ts';
import { parseFilter } from '../filters/parse.ts';
import { type FilterTemplate, filterTemplate } from '../filters/template.ts';
import type { SlotValue } from '../sql/slot.ts';
import { bindSlots, sql, type Sql, type SqlValue, withValues } from '../sql/sql.ts';
import type { Names } from '../storage/database.ts';
import type { ConditionRequest } from './condition-request.ts';
import { type PlanInputs, type PlanRequest, PlanSlots, valuesFor } from './plan-slots.ts';
import { baseAlias, RecordScope } from './record-scope.ts';

/**
 * A rule, a filter or both, compiled for all requests of one kind of caller: their values are slots. It is one condition on a row of the
 * collection, which is `baseAlias` in a statement.
 */
export interface RulePlan {
  readonly collection: Collection;
  readonly condition: Sql;
  /** Set where the values of the request alone decide, so that no statement is needed. */
  readonly constant: boolean | undefined;
  readonly inputs: PlanInputs;
  /** Statements that end in the condition, by form. */
  readonly statements: Map<string, Sql>;
}

/** A plan with the values of one request. */
export interface BoundRule {
  readonly plan: RulePlan;
  readonly values: readonly SlotValue[];
}

/** A filter, parsed once from its text. */
export interface FilterText {
  readonly text: string;
  readonly template: FilterTemplate;
}

/** Parses a filter. Throws a filter error for one that cannot be parsed. */
export function toFilterText(text: string): FilterText {
  const template = filterTemplate(text);
  parseFilter(text);
  return { text, template };
}

/** A filter that is part of the plan with its constants, as it is used again and again. Throws a filter error when it is planned. */
export function wholeFilter(text: string): FilterText {
  return { text, template: { form: text, literals: [], positions: [] } };
}

/** The source of a plan: a rule as a collection stores it, a filter of the caller, or both. */
export interface RuleForm {
  readonly collection: Collection;
  readonly rule?: string | undefined;
  readonly filter?: FilterText | undefined;
  /** As in a ScopeContext. */
  readonly before?: Sql | undefined;
  readonly isStored?: boolean | undefined;
}

/** The definitions of an instance, and the names that its database has for them. */
export interface RuleDefinitions {
  readonly collections: CollectionFinder;
  readonly names: Names;
}

/** Characters per generation, for the plans of all instances of a process. */
const plansLengthMax = 4 * 1024 * 1024;
/** The size of a plan in memory besides the texts of its statements, counted as characters. */
const planLength = 2_000;
/** Plans of one form for values that make different conditions: empty and other texts, numbers and none. */
const plansOfFormMax = 4;
const plans = new GenerationCache<string, readonly RulePlan[]>(plansLengthMax, (ofForm, key) =>
  // A plan gets a few statements with this condition later.
  ofForm.reduce((sum, { condition }) => sum + planLength + 3 * condition.text.length, key.length),
);

/**
 * Returns the plan of a rule with the values of this request, from the cache where one is right for them. Throws broken_rule
 * for a rule that no longer compiles, bad_request for a filter.
 */
export function bindRule(definitions: RuleDefinitions, form: RuleForm, request: ConditionRequest): BoundRule {
  const { collections } = definitions;
  const { collection, filter } = form;
  const { version } = collections;
  const planned: PlanRequest = { ...request, literals: filter?.template.literals ?? [], offset: 0 };
  const key = version === undefined ? undefined : keyOf(form, version, request.input.caller);
  const ofForm = (key === undefined ? undefined : plans.find(key)) ?? [];
  for (const plan of ofForm) {
    const values = plan.collection === collection ? valuesFor(plan.inputs, planned) : undefined;
    if (values !== undefined) return { plan, values };
  }
  const plan = makePlan(definitions, form, planned);
  if (key !== undefined && !plan.inputs.isPinned) plans.add(key, [plan, ...ofForm].slice(0, plansOfFormMax));
  return { plan, values: plan.inputs.reads.map((read) => read(planned)) };
}

function keyOf(form: RuleForm, version: number, caller: Caller): string {
  const { collection, rule = '', filter, before, isStored = false } = form;
  const what = `${version}/${collection.id}/${before === undefined}/${isStored}/${callerForm(caller)}`;
  return `${what}\u0000${rule}\u0000${filter?.template.form ?? ''}`;
}

function makePlan(
  { collections, names }: RuleDefinitions,
  { collection, rule = '', filter, before, isStored }: RuleForm,
  request: PlanRequest,
): RulePlan {
  const slots = new PlanSlots(request, filter?.template.positions ?? []);
  const context = { ...request, collections, names, slots, ...(before && { before }) };
  const scope = new RecordScope(
    { ...context, ...(isStored !== undefined && { isStored }) },
    { collection, alias: baseAlias },
  );
  if (rule !== '') scope.addRule(parseRule(rule));
  if (filter !== undefined) scope.addFilter(parseFilter(filter.text));
  const condition = scope.condition ?? always;
  return toPlan(collection, condition, slots.finish());
}

function toPlan(collection: Collection, condition: Sql, inputs: PlanInputs): RulePlan {
  return { collection, condition, constant: constantOf(condition), inputs, statements: new Map() };
}

/** Returns the condition for a statement that is made for this request. */
export function conditionOf({ plan, values }: BoundRule): Sql {
  return plan.constant === undefined ? bindSlots(plan.condition, values) : plan.condition;
}

/** The beginning of a statement that ends in a rule. */
export interface StatementBegin {
  /** Distinguishes it from others of the same plan. */
  readonly form: string;
  /** Makes the beginning, behind which `AND` may follow. Called once for each plan. */
  readonly make: () => Sql;
  /** The values of the beginning. */
  readonly values: readonly SqlValue[];
}

/** Returns the statement `… AND condition`, whose text is the same object for all requests. */
export function statementOf({ plan, values }: BoundRule, { form, make, values: first }: StatementBegin): Sql {
  let statement = plan.statements.get(form);
  if (statement === undefined) {
    statement = sql`${make()} AND ${plan.condition}`;
    plan.statements.set(form, statement);
  }
  return withValues(statement, [...first, ...conditionOf({ plan, values }).values]);
}

/** Returns a rule that admits all records, or none. */
export function constantRule(collection: Collection, isTrue: boolean): BoundRule {
  return { plan: toPlan(collection, isTrue ? always : never, noInputs), values: [] };
}

const noInputs: PlanInputs = {
  reads: [],
  tests: [],
  isPinned: false,
  usesTime: false,
  usesCaller: false,
  usesRequest: false,
};
