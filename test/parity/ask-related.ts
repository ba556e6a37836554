import assert from 'node:assert/strict';
import { AppError } from '../../src/base/errors.ts';
import { filterTemplate } from '../../src/filters/template.ts';
import type { Collection } from '../../src/collections/collection.ts';
import { baseAlias, RecordScope } from '../../src/query/record-scope.ts';
import { type BoundList, listTexts, runJson, runRows } from '../../src/query/run-list.ts';
import { type ListQuery, parseListQuery } from '../../src/query/list-query.ts';
import type { ListSource } from '../../src/query/list-source.ts';
import { type ListColumns, type ListPlan, planList } from '../../src/query/plan.ts';
import { type PlanInputs, type PlanRequest, PlanSlots, valuesFor } from '../../src/query/plan-slots.ts';
import { RowJsonCache } from '../../src/query/row-cache.ts';
import { recordTable, rowVersion } from '../../src/records/record-table.ts';
import { type Caller, guest } from '../../src/access/caller.ts';
import { parseRule } from '../../src/access/rule.ts';
import type { RuleInput } from '../../src/access/rule-input.ts';
import { bindSlots, sql, type Sql } from '../../src/sql/sql.ts';
import type { ParityEngine } from './engine-pair.ts';
import { relatedTableNames } from './related-tables.ts';
import {
  finderOf,
  type RelatedCaller,
  relatedCollections,
  type RelatedName,
  type RelatedQuestion,
  type RelatedRules,
} from './related-world.ts';

const now = Date.UTC(2026, 10, 20, 9, 35, 20, 114);

export interface RelatedList {
  readonly name: RelatedName;
  readonly rules: RelatedRules;
  readonly question: RelatedQuestion;
}

/** Returns the ids that a list has and its totals. Throws as a list does. */
export async function askForIds(
  engine: ParityEngine,
  list: RelatedList,
): Promise<{ readonly ids: readonly string[]; readonly totals: string }> {
  const found = await runRows(engine.reader, bind(engine, list, idsOnly));
  return { ids: found.items.map(([id]) => String(id)), totals: `${found.totalItems} on ${found.totalPages}` };
}

const idsOnly = { rows: sql`${baseAlias}.id` };

/** Returns the list as the API answers it; behind a cursor, all pages to the end. Throws as a list does. */
export async function askForJson(
  engine: ParityEngine,
  { question, ...list }: RelatedList,
): Promise<readonly string[]> {
  const pages: string[] = [];
  const json = recordTable(collectionOf(list)).json(relatedTableNames[engine.engine], { withHidden: false });
  if (json === undefined) throw new Error('accounts are not written by the engine');
  const columns = { rows: sql`${rowVersion}, ${json.column} AS "$json"`, versions: rowVersion };
  for (let { cursor } = question; ;) {
    const asked = { ...list, question: { ...question, ...(cursor !== undefined && { cursor }) } };
    const rows = { kind: json.rows, texts: new RowJsonCache({ lengthMax: 1 }) };
    const { items, ...page } = await runJson(engine.reader, bind(engine, asked, columns), rows);
    pages.push(listTexts(page, items).join(''));
    if (page.nextCursor === undefined || page.nextCursor === null) return pages;
    cursor = page.nextCursor;
  }
}

/** The message, if the list was refused. A rule of a world may be one that could not be saved. */
export function refusalOf(error: unknown): string | undefined {
  const isRefusal =
    error instanceof AppError && (error.code === 'bad_request' || error.code === 'broken_rule');
  return isRefusal ? error.message : undefined;
}

function collectionOf({ name, rules }: Pick<RelatedList, 'name' | 'rules'>): Collection {
  const collection = relatedCollections(rules).find((one) => one.name === name);
  if (collection === undefined) throw new Error('there are such records');
  return collection;
}

/**
 * As src/records/list-records.ts does it. Cursors can be read, so that what is in them is compared as well. A plan that was made for
 * other constants, and is right for these, has to be the same as the one that is made for these.
 */
function bind(engine: ParityEngine, list: RelatedList, columns: ListColumns): BoundList {
  const own = planned(engine, list, columns);
  const bound = { plan: own.plan, values: own.inputs.reads.map((read) => read(own.request)) };
  for (const other of withOtherConstants(list)) {
    const theirs = plannedIfValid(engine, other, columns);
    const values = theirs && valuesFor(theirs.inputs, own.request);
    if (theirs !== undefined && values !== undefined)
      assert.deepEqual(statementsOf({ plan: theirs.plan, values }), statementsOf(bound));
  }
  const sealer = { seal: (position: string) => position, open: (cursor: string) => cursor };
  return { ...bound, paging: own.query, sealer };
}

function statementsOf({ plan, values }: Pick<BoundList, 'plan' | 'values'>): readonly Sql[] {
  const { select, page, count } = plan;
  const all = [select.order, ...select.conditions, count, page?.rows ?? count, page?.versions ?? count];
  return all.map((statement) => bindSlots(statement, values));
}

interface Planned {
  readonly query: ListQuery;
  readonly request: PlanRequest;
  readonly plan: ListPlan;
  readonly inputs: PlanInputs;
}

function plannedIfValid(...given: Parameters<typeof planned>): Planned | undefined {
  try {
    return planned(...given);
  } catch (error) {
    if (refusalOf(error) === undefined) throw error;
    return undefined;
  }
}

function planned(
  { dialect, engine }: Pick<ParityEngine, 'dialect' | 'engine'>,
  list: RelatedList,
  columns: ListColumns,
): Planned {
  const { name, rules, question } = list;
  const names = relatedTableNames[engine];
  const all = relatedCollections(rules);
  const collection = collectionOf(list);
  const { caller, ...asked } = question;
  const input = inputOf(caller, all);
  const query = parseListQuery(new URLSearchParams({ ...asked }));
  const { page, perPage, cursor } = query;
  const template = asked.filter === undefined ? undefined : filterTemplate(asked.filter);
  const request = { literals: template?.literals ?? [], input, now, offset: (page - 1) * perPage };
  const slots = new PlanSlots(request, template?.positions ?? []);
  const scope = new RecordScope(
    { collections: finderOf(all), names, input, now, slots },
    { collection, alias: baseAlias },
    { joinsOutside: true },
  );
  const { listRule } = collection.rules;
  if (caller !== 'superuser' && typeof listRule === 'string' && listRule !== '')
    scope.addRule(parseRule(listRule));
  const source: ListSource = {
    columns: columns.rows,
    from: sql`${names.collectionTable(name)} AS ${baseAlias}`,
    tieBreaker: { sql: sql`${baseAlias}."$position"`, kind: 'number', isNeverNull: true },
    resolve: scope.resolve,
    scope: scope.forList(),
    dialect,
    now,
  };
  const offset = cursor !== undefined ? undefined : page === 1 ? 0 : slots.offset();
  return { query, request, plan: planList({ ...query, offset }, source, columns), inputs: slots.finish() };
}

const otherTexts = ['', 'a', '5', '1e2', 'a%b', 'x'.repeat(60), 'b\\c'];
const otherNumbers = [0, 1, -2.5, 1e15];

/** Yields lists of the same form for another caller of the same kind, each with all constants replaced. */
function* withOtherConstants({ question, ...list }: RelatedList): Generator<RelatedList> {
  const caller = question.caller === 'u1' ? 'u2' : question.caller;
  const { filter } = question;
  const { form } = filterTemplate(filter ?? '');
  for (let round = 0; round < otherTexts.length; round += 1) {
    let place = round;
    const parts = form.split('\u0000').map((part, index) => {
      place += 1;
      if (index === 0) return part;
      const text = `"${otherTexts[place % otherTexts.length] ?? ''}"`;
      const number = otherNumbers[place % otherNumbers.length] ?? 0;
      return `${part.startsWith('t') ? text : number}${part.slice(1)}`;
    });
    yield { ...list, question: { ...question, ...(filter && { filter: parts.join('') }), caller } };
  }
}

function inputOf(caller: RelatedCaller, collections: readonly Collection[]): RuleInput {
  const people = collections.find(({ name }) => name === 'people');
  const account = (id: string): Caller =>
    id === 'guest' || people === undefined ? guest : { kind: 'user', id, collectionId: people.id };
  return {
    caller: caller === 'superuser' ? { kind: 'superuser', id: '' } : account(caller),
    context: 'default',
    method: 'GET',
    query: new URLSearchParams({ n: '5', title: 'a' }),
    headers: new URLSearchParams({ x_token: 'AB' }),
    body: { title: 'a', n: 5, tags: ['x', 'y'], author: 'u1', readers: ['u1', 'u2'] },
  };
}
