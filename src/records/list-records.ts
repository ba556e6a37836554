import { type Caller, callerForm } from '../access/caller.ts';
import type { RuleInput } from '../access/rule-input.ts';
import { admit, parseRule } from '../access/rule.ts';
import { GenerationCache, StateCache } from '../base/cache.ts';
import { AppError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import type { Operand } from '../filters/operand.ts';
import { parseFilter } from '../filters/parse.ts';
import { parseSort } from '../filters/compile/sort.ts';
import { type FilterTemplate, filterTemplate } from '../filters/template.ts';
import { readCurrentCollection } from '../instances/current-collection.ts';
import type { Instance } from '../instances/instance.ts';
import { type Access, explainList } from '../query/explain-list.ts';
import { isTrue, type Paging, parsePaging, type QueryReader, type RowMemory } from '../query/list-query.ts';
import type { CursorSealer, ListSource } from '../query/list-source.ts';
import { type ListPlan, planList } from '../query/plan.ts';
import { type PlanInputs, type PlanRequest, PlanSlots, valuesFor } from '../query/plan-slots.ts';
import { baseAlias, RecordScope } from '../query/record-scope.ts';
import { rowJson } from '../query/row-cache.ts';
import { projectTexts } from '../query/project-texts.ts';
import { parseFields, type Projection } from '../query/projection.ts';
import { type BoundList, bytesOf, listTexts, runJson, runRows } from '../query/run-list.ts';
import { cursorsOfList } from '../secrets/seal-position.ts';
import type { SlotValue } from '../sql/slot.ts';
import { sql } from '../sql/sql.ts';
import { lookUpCaller, scopeContext } from './check-rule.ts';
import { presentRecords } from './present-records.ts';
import { type RecordJson, recordTable, rowVersion } from './record-table.ts';
import { fromTuple } from './record.ts';

export interface RecordList {
  /** The whole list as JSON: as one text or, if it is long, as several. */
  readonly texts: readonly string[];
  /** How the records are found. Only for superusers, who could add an index, and only on request. */
  readonly access?: Access;
}

export interface RecordsRequest {
  readonly collection: string;
  readonly query: QueryReader;
  /** Where the rows are to be counted. */
  readonly memory?: RowMemory;
}

/** Returns a page of a collection's records. Throws not_found (collection), forbidden (null rule), bad_request (filter, sort). */
export function listRecords(
  instance: Instance,
  input: RuleInput,
  { collection: name, query, memory }: RecordsRequest,
): Promise<RecordList> {
  return readCurrentCollection(instance, name, async (collection) => {
    const rule = admit(collection, 'listRule', input.caller);
    const list = parseList(instance, input, { collection, rule, query });
    const state = instance.database.state();
    const cached = state && !list.isExplained ? cachedLists.find(state, list.answerKey) : undefined;
    if (cached !== undefined) return cached;
    const ruleInput = rule === undefined ? input : await lookUpCaller(instance, input, rule);
    const planned = planFor(instance, ruleInput, list);
    const { paging } = list;
    const sealer = paging.cursor === undefined ? undefined : cursorsOf(instance, ruleInput, list);
    const bound = { ...planned, paging, memory, ...(sealer !== undefined && { sealer }) };
    const texts = await runAndPresent(instance, ruleInput, { ...list, bound });
    // A few long lists would drive out all others.
    if (state !== undefined && isRepeatable(list, planned) && lengthOf(texts) <= listsLengthMax / 64)
      cachedLists.add(state, list.answerKey, { texts });
    if (!list.isExplained) return { texts };
    return { texts, access: await explainList(instance.database, bound, list.filter !== undefined) };
  });
}

/** Plans a list as a superuser would read it, and no more. Throws bad_request (filter, sort). */
export function planWithoutReading(
  instance: Instance,
  input: RuleInput,
  options: { readonly collection: Collection; readonly query: QueryReader },
): void {
  const list = parseList(instance, input, { ...options, rule: undefined });
  const literals = list.filter?.literals ?? [];
  const request: PlanRequest = { literals, input, now: instance.clock.now(), offset: 0 };
  makePlan(instance, input, { list, slots: new PlanSlots(request, list.filter?.positions ?? []) });
}

/** A decoded request for a list. */
interface ListRequest {
  readonly collection: Collection;
  /** The list rule, where records have to meet it. */
  readonly rule: string | undefined;
  readonly query: QueryReader;
  readonly paging: Paging;
  readonly filter: FilterTemplate | undefined;
  /** Undefined where whole records are shown. */
  readonly fields: Projection | undefined;
  readonly isExplained: boolean;
  /** Undefined where records are not shown as the engine can write them. */
  readonly written: RecordJson | undefined;
  /** Stands for all requests that a plan can serve. */
  readonly planKey: string;
  /** Stands for all requests that have one answer as long as nothing changes. */
  readonly answerKey: string;
}

function parseList(
  { collections, database }: Instance,
  { caller }: RuleInput,
  options: Pick<ListRequest, 'collection' | 'rule' | 'query'>,
): ListRequest {
  const { collection, rule, query } = options;
  const isSuperuser = caller.kind === 'superuser';
  if (!isSuperuser) refuseRuleNames(query);
  // The plan of a view is that of its query: to make it may take as long.
  const isExplained = isSuperuser && isTrue(query, 'explain') && collection.type !== 'view';
  const fields = parseFields(query.get('fields') ?? '');
  const paging = parsePaging(query);
  const text = query.get('filter') || undefined;
  const filter = text === undefined ? undefined : filterTemplate(text);
  const table = recordTable(collection);
  const json = table.json(database.names, { withHidden: isSuperuser });
  const written = query.get('fields') || query.get('expand') ? undefined : json;
  const { page, perPage, skipTotal, cursor } = paging;
  const begin = cursor === undefined ? page > 1 : 'cursor';
  const sort = query.get('sort') ?? '';
  const how = `${table.id}/${collections.version}/${written === undefined}/${begin}/${perPage}/${skipTotal}/${sort.length}`;
  const planKey = [how, callerForm(caller), sort, filter?.form ?? ''].join('\u0000');
  const answerKey = [planKey, page, rule && idOf(caller), ...(filter?.literals ?? [])].join('\u0000');
  return { ...options, paging, filter, fields, isExplained, written, planKey, answerKey };
}

function idOf(caller: Caller): string {
  return caller.kind === 'guest' ? '' : caller.id;
}

/** Plans that are right for different values, by `planKey`. */
interface CachedPlan {
  readonly plan: ListPlan;
  readonly inputs: PlanInputs;
}

/** Characters per generation: the statements of a list with many fields are longer than most of its pages. */
const plansLengthMax = 4 * 1024 * 1024;
/** What a plan takes in memory besides the text of its statements, counted as characters. */
const planLength = 2_000;
/** How many plans of one form are cached, for values that make different statements: empty and other texts, numbers and none. */
const plansOfFormMax = 4;
const plans = new GenerationCache<string, readonly CachedPlan[]>(plansLengthMax, (ofForm, key) => {
  let length = key.length;
  for (const { plan } of ofForm)
    length += planLength + (plan.page?.rows.text.length ?? 0) + 2 * plan.count.text.length;
  return length;
});

interface BoundPlan extends CachedPlan {
  readonly values: readonly SlotValue[];
}

/** Returns the plan of a list with the values of this request: from the cache, where it is right for these. */
function planFor(instance: Instance, input: RuleInput, list: ListRequest): BoundPlan {
  const { paging, filter, planKey } = list;
  const request: PlanRequest = {
    literals: filter?.literals ?? [],
    input,
    now: instance.clock.now(),
    offset: (paging.page - 1) * paging.perPage,
  };
  const ofForm = plans.find(planKey) ?? [];
  for (const cached of ofForm) {
    const values = valuesFor(cached.inputs, request);
    if (values !== undefined) return { ...cached, values };
  }
  const slots = new PlanSlots(request, filter?.positions ?? []);
  const plan = makePlan(instance, input, { list, slots });
  const inputs = slots.finish();
  if (!inputs.isPinned) plans.add(planKey, [{ plan, inputs }, ...ofForm].slice(0, plansOfFormMax));
  return { plan, inputs, values: inputs.reads.map((read) => read(request)) };
}

function makePlan(
  instance: Instance,
  input: RuleInput,
  { list, slots }: { readonly list: ListRequest; readonly slots: PlanSlots },
): ListPlan {
  const { query, paging, collection, written } = list;
  const { perPage, skipTotal, page, cursor } = paging;
  const [filter, sort] = [query.get('filter'), query.get('sort')];
  const { columns } = recordTable(collection).statements(instance.database.names).joined;
  const planned = {
    filter: filter ? parseFilter(filter) : undefined,
    sort: sort ? parseSort(sort) : [],
    perPage,
    skipTotal,
    offset: cursor !== undefined ? undefined : page === 1 ? 0 : slots.offset(),
  };
  return planList(
    planned,
    sourceOf(instance, input, { ...list, slots }),
    written === undefined
      ? { rows: columns }
      : { rows: sql`${rowVersion}, ${written.column} AS "$json"`, versions: rowVersion },
  );
}

function sourceOf(
  instance: Instance,
  input: RuleInput,
  { collection, rule, slots }: Pick<ListRequest, 'collection' | 'rule'> & { readonly slots: PlanSlots },
): ListSource {
  const { caller } = input;
  // Which collections an API key reaches decides which paths there are.
  if (caller.kind === 'superuser' && caller.key !== undefined) slots.noteCaller();
  const context = { ...scopeContext(instance, input), slots };
  const { names, now } = context;
  const scope = new RecordScope(context, { collection, alias: baseAlias }, { joinsOutside: true });
  if (rule !== undefined) scope.addRule(parseRule(rule));
  const { columns, from } = recordTable(collection).statements(names).joined;
  // A filter may take as long for one row of large json values as for hundreds of others.
  const hasJson = collection.fields.some(({ type }) => type === 'json');
  const isInTime = names.isInTime(position.sql, hasJson ? 'for every row' : 'for some');
  return {
    columns,
    from,
    ...(isInTime && { isInTime }),
    tieBreaker: position,
    ...(collection.type === 'view' && { isView: true, tieBreakerEnd: viewId }),
    resolve: scope.resolve,
    scope: scope.forList(),
    dialect: names.dialect,
    now,
  };
}

async function runAndPresent(
  instance: Instance,
  input: RuleInput,
  { collection, fields, written, bound }: ListRequest & { readonly bound: BoundList },
): Promise<readonly string[]> {
  const { database } = instance;
  if (written !== undefined) {
    const { items, ...page } = await runJson(database, bound, { kind: written.rows, texts: rowJson });
    return listTexts(page, items);
  }
  const { items: tuples, ...page } = await runRows(database, bound);
  const records = tuples.map((tuple) => fromTuple(collection, tuple));
  // The texts of the records are in memory beside their values.
  bound.memory?.extend(bytesOf(tuples));
  const texts = await presentRecords({ instance, input }, records);
  return listTexts(page, fields === undefined ? texts : await projectTexts(texts, fields));
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0);
}

/** The lists that this process caches where the engine reports its state: 4 MB per generation, if they are ASCII. */
const listsLengthMax = 4 * 1024 * 1024;
/** What a list takes in memory besides its text and key, counted as characters. */
const listLength = 200;
const cachedLists = new StateCache<RecordList>(
  listsLengthMax,
  ({ texts }, key) => lengthOf(texts) + key.length + listLength,
);

/** Whether all requests with the answer key of this one have its answer, until something changes. */
function isRepeatable(
  { rule, paging, written, isExplained }: ListRequest,
  { plan, inputs }: CachedPlan,
): boolean {
  // A cursor is for one caller. Where the list has no rule, the caller is not in the key.
  const isShared = paging.cursor === undefined && (rule !== undefined || !inputs.usesCaller);
  const isRandom = plan.select.terms.some(({ operand }) => operand === undefined);
  return (
    isShared &&
    written !== undefined &&
    !isExplained &&
    !inputs.isPinned &&
    !inputs.usesTime &&
    !inputs.usesRequest &&
    !isRandom
  );
}

/** Cursors are bound to the list and to its caller. */
function cursorsOf(
  { sealer }: Instance,
  { caller }: RuleInput,
  { collection, query }: { readonly collection: Collection; readonly query: QueryReader },
): CursorSealer {
  return cursorsOfList(sealer, [
    collection.id,
    query.get('filter') || null,
    query.get('sort') || null,
    caller,
  ]);
}

/** Refuses names that only rules may use. Even inside a quoted text, so that no spelling of them gets past. */
export function refuseRuleNames(query: QueryReader): void {
  const names = `${query.get('filter') ?? ''} ${query.get('sort') ?? ''}`;
  for (const name of ['@collection.', '@request.'])
    if (names.includes(name)) throw new AppError('forbidden', `Only superusers can filter by ${name}`);
}

const viewId: Operand = { sql: sql`${baseAlias}.id`, kind: 'text', isNeverNull: true };
const position: Operand = { sql: sql`${baseAlias}."$position"`, kind: 'number', isNeverNull: true };
