import { AppError } from '../base/errors.ts';
import { GenerationCache, StateCache } from '../base/cache.ts';
import type { Collection } from '../collections/collection.ts';
import { baseAlias, RecordScope } from '../query/record-scope.ts';
import { dialectOf } from '../filters/dialect-of.ts';
import type { Operand } from '../filters/operand.ts';
import type { FilterTree } from '../filters/parse.ts';
import type { Instance } from '../instances/instance.ts';
import { answerKey, isCacheable } from './answer-cache.ts';
import { type Access, explainList } from '../query/explain-list.ts';
import type { CursorSealer, ListSource } from '../query/list-source.ts';
import { listJson, runList } from '../query/run-list.ts';
import { isTrue, type ListQuery, parseListQuery, type QueryReader } from '../query/list-query.ts';
import { type JsonList, prepareJsonList, runJsonList } from '../query/run-json-list.ts';
import type { RuleInput } from '../access/rule-input.ts';
import { admit } from '../access/rule.ts';
import { SecretError } from '../secrets/master-key.ts';
import { sql } from '../sql/sql.ts';
import { lookUpCaller, scopeContext } from './check-rule.ts';
import { presentRecords } from './present-records.ts';
import { readStatements, type RecordJson, recordJson, rowVersion } from './record-table.ts';
import { fromTuple } from './record.ts';
import { readCurrentCollection } from '../instances/current-collection.ts';

export interface RecordList {
  /** The whole list as JSON. */
  readonly json: string;
  /** How the records are found. Only for superusers, who could add an index, and only where they ask for it. */
  readonly access?: Access;
}

/** The lists that this process remembers on SQLite: 4 MB per generation, if they are ASCII. */
const listsLengthMax = 4 * 1024 * 1024;
/** What a list takes in memory besides its text and key, counted as characters. */
const listLength = 200;
const knownLists = new StateCache<RecordList>(
  listsLengthMax,
  ({ json }, key) => json.length + key.length + listLength,
);

/** Returns a page of a collection's records. Throws not_found (collection), forbidden (null rule), bad_request (filter, sort). */
export function listRecords(
  instance: Instance,
  facts: RuleInput,
  request: { readonly collection: string; readonly query: QueryReader },
): Promise<RecordList> {
  return readCurrentCollection(instance, request.collection, async (collection) => {
    const { collections, database } = instance;
    const rule = admit(collection, 'listRule', facts.caller);
    const isSuperuser = facts.caller.kind === 'superuser';
    if (!isSuperuser) refuseRuleNames(request.query);
    const isExplained = isSuperuser && isTrue(request.query, 'explain');
    const list = { collection, rule, asked: request.query, isExplained };
    const json =
      isWhole(request.query) && !isExplained
        ? recordJson(collection, database.names, { withHidden: isSuperuser })
        : undefined;
    if (json === undefined) return presentList(instance, facts, list);
    const key = answerKey(
      json,
      { collections, caller: rule && facts.caller },
      cacheKeyParts(facts, request.query),
    );
    const state = database.state();
    const known = state && knownLists.find(state, key);
    return known ?? writeList(instance, facts, { ...list, json, key, state });
  });
}

/** True when whole records are asked for, whose JSON the engine can write. */
function isWhole(query: QueryReader): boolean {
  return !query.get('fields') && !query.get('expand');
}

interface ListRequest {
  readonly collection: Collection;
  readonly rule: FilterTree | undefined;
  readonly asked: QueryReader;
  readonly isExplained: boolean;
}

interface JsonListRequest extends ListRequest {
  readonly json: RecordJson;
  readonly key: string;
  /** The state of the database before the list is read; undefined where it is not known. */
  readonly state: object | undefined;
}

const listParameters = ['page', 'perPage', 'skipTotal', 'sort', 'filter'];

/**
 * Returns all that tells one list of a collection from another. A cursor, and the next one in the answer, are valid only for the
 * caller they were made for.
 */
function cacheKeyParts({ caller }: RuleInput, query: QueryReader): readonly string[] {
  const asked = listParameters.map((name) => query.get(name) ?? '');
  const cursor = query.get('cursor');
  return cursor === null ? asked : [...asked, cursor, JSON.stringify(caller)];
}

/** Runs the list as a statement in which the engine writes the JSON. */
async function writeList(instance: Instance, facts: RuleInput, list: JsonListRequest): Promise<RecordList> {
  const prepared = await preparedList(instance, facts, list);
  const { items, ...page } = await runJsonList(prepared.list);
  const found = { json: listJson(page, items) };
  const { state, key } = list;
  // A few long lists would drive out all others.
  if (state !== undefined && prepared.isCacheable && found.json.length <= listsLengthMax / 64)
    knownLists.add(state, key, found);
  return found;
}

/** Reads the columns and writes the JSON of each record here. */
async function presentList(instance: Instance, asker: RuleInput, list: ListRequest): Promise<RecordList> {
  const query = parseListQuery(list.asked);
  const facts = await factsFor(instance, asker, list);
  const makeSource = (): ListSource => sourceOf(instance, facts, { ...list, query });
  const { items: tuples, ...page } = await runList(instance.database, query, makeSource());
  const records = tuples.map((tuple) => fromTuple(list.collection, tuple));
  const items = await presentRecords({ instance, facts }, records);
  const json = listJson(page, items);
  if (!list.isExplained) return { json };
  return { json, access: await explainList(instance.database, query, makeSource()) };
}

interface PreparedList {
  readonly list: JsonList;
  /** Whether it gives the same caller the same answer until something changes. */
  readonly isCacheable: boolean;
}

/** Lists with longer keys are not kept: they would fill the memory, and hardly any of them is asked for twice. */
const keyLengthMax = 500;
/** Characters per generation: the statements of a list with many fields are longer than most of its pages. */
const preparedLengthMax = 4 * 1024 * 1024;
/** What a prepared list takes in memory beside the text of its statements, counted as characters. */
const preparedLength = 2_000;
const preparedLists = new GenerationCache<string, PreparedList>(
  preparedLengthMax,
  ({ list }) => list.texts.text.length + list.versions.text.length + preparedLength,
);

/** Returns the statements of a list. They are made once for all requests with the same key, where they mean the same for all of these. */
async function preparedList(
  instance: Instance,
  asker: RuleInput,
  list: JsonListRequest,
): Promise<PreparedList> {
  const { json, rule, asked } = list;
  const facts = await factsFor(instance, asker, list);
  const key = rule === undefined ? list.key : `${list.key}${relationsOf(facts)}`;
  const known = preparedLists.find(key);
  if (known !== undefined) return known;
  const query = parseListQuery(asked);
  const source = sourceOf(instance, facts, { ...list, query });
  const { filter, sort, cursor = '' } = query;
  // A filter that names related records is not lasting: what the caller may list of these depends on the caller, who is not in the
  // key where the list itself has no rule.
  const made = {
    list: prepareJsonList(instance.database, query, {
      ...source,
      json: json.column,
      kind: json.rows,
      version: rowVersion,
    }),
    isCacheable:
      isCacheable({ filter, sort, within: 'definition' }) && isCacheable({ filter: rule, within: 'state' }),
  };
  // There are as many cursors as there are pages.
  if (made.isCacheable && cursor === '' && key.length <= keyLengthMax) preparedLists.add(key, made);
  return made;
}

/** Returns the part of the key for the caller's relations, whose values are in the statement where there is a rule. */
function relationsOf({ callerRelations }: RuleInput): string {
  const relations = callerRelations === undefined ? [] : [...callerRelations].flat();
  return ['', ...relations].join('\u0000');
}

/** Returns the facts with what the rule asks of the caller's record. */
async function factsFor(
  instance: Instance,
  facts: RuleInput,
  { collection, rule }: ListRequest,
): Promise<RuleInput> {
  return rule === undefined ? facts : lookUpCaller(instance, facts, collection.rules.listRule);
}

function sourceOf(
  instance: Instance,
  facts: RuleInput,
  { collection, rule, query, asked }: ListRequest & { readonly query: ListQuery },
): ListSource {
  const context = scopeContext(instance, facts);
  const { names, now } = context;
  const scope = new RecordScope(context, { collection, alias: baseAlias }, { joinsOutside: true });
  if (rule !== undefined) scope.addRule(rule);
  const trust = facts.caller.kind === 'superuser' ? 'rule' : 'client';
  const { columns, from } = readStatements(collection, names);
  // A filter may take as long for one row of large json values as for hundreds of others.
  const hasJson = collection.fields.some(({ type }) => type === 'json');
  const isInTime = names.isInTime(position.sql, hasJson ? 'for every row' : 'for some');
  return {
    columns,
    from,
    ...(isInTime && { isInTime }),
    tieBreaker: position,
    resolve: scope.resolver(trust),
    scope: scope.forList(trust),
    dialect: dialectOf(names.engine),
    ...(query.cursor !== undefined && { cursors: cursorsOf(instance, facts, { collection, query: asked }) }),
    now,
  };
}

/** Returns a sealer whose cursors are bound to this list: with another filter or order, or for another caller, a position means nothing. */
function cursorsOf(
  { sealer }: Instance,
  { caller }: RuleInput,
  { collection, query }: { readonly collection: Collection; readonly query: QueryReader },
): CursorSealer {
  const bound = [collection.id, query.get('filter') || null, query.get('sort') || null, caller];
  const place = { purpose: 'cursor', id: JSON.stringify(bound) };
  return {
    seal: (position) => sealer.seal(position, place),
    open: (cursor) => {
      try {
        return sealer.open(cursor, place);
      } catch (error) {
        if (error instanceof SecretError) return undefined;
        throw error;
      }
    },
  };
}

/** Refuses names that only rules may use. Even inside a quoted text, so that no spelling of them gets past. */
function refuseRuleNames(query: QueryReader): void {
  const asked = `${query.get('filter') ?? ''} ${query.get('sort') ?? ''}`;
  for (const name of ['@collection.', '@request.'])
    if (asked.includes(name)) throw new AppError('forbidden', `Only superusers can filter by ${name}`);
}

const position: Operand = { sql: sql`${baseAlias}."$position"`, kind: 'number', isNeverNull: true };
