import type { Caller } from '../access/caller.ts';
import type { RuleInput } from '../access/rule-input.ts';
import { admit, isLocked, parseRule, unlessBroken } from '../access/rule.ts';
import type { Collection } from '../collections/collection.ts';
import { parseSort } from '../filters/compile/sort.ts';
import { parseFilter } from '../filters/parse.ts';
import type { Instance } from '../instances/instance.ts';
import { parameterError } from '../query/list-parameters.ts';
import type { RowMemory } from '../query/list-query.ts';
import { projectTexts } from '../query/project-texts.ts';
import { parseFields } from '../query/projection.ts';
import { baseAlias, RecordScope } from '../query/record-scope.ts';
import { runList } from '../query/run-list.ts';
import { sql, type Sql } from '../sql/sql.ts';
import { QueryTimeout } from '../storage/engine-errors.ts';
import { lookUpCaller, scopeContext } from './check-rule.ts';
import { presentRecords } from './present-records.ts';
import { recordTable } from './record-table.ts';
import { fromTuple, type StoredRecord, valueOf } from './record.ts';

/** What one search looks at, whatever the instance holds. */
export const searchLimits = {
  textMin: 2,
  textMax: 100,
  /** Collections, those with an index on a text first. */
  collectionsMax: 200,
  /** Records whose texts are read in all, shared by the collections: the newest of each. */
  recordsInAllMax: 200_000,
  recordsMin: 500,
  itemsMax: 40,
  itemsOfCollectionMax: 5,
  /** The time of all collections together. */
  totalMsMax: 3_000,
} as const;

interface SearchOptions {
  readonly text: string;
  readonly memory: RowMemory;
  /** Aborted when the client leaves: nothing more is searched. */
  readonly signal?: AbortSignal;
  readonly recordsInAllMax?: number;
  readonly totalMsMax?: number;
}

/**
 * Returns records that the caller may list and that have a text in a field that stands for them, or in an indexed one: by their whole id or
 * value wherever they are, and by a part of it among the newest of each collection. Collections for which the time is too short are skipped.
 * Throws bad_request for a text that is too short or long.
 */
export async function searchRecords(
  instance: Instance,
  input: RuleInput,
  {
    text,
    memory,
    signal,
    recordsInAllMax = searchLimits.recordsInAllMax,
    totalMsMax = searchLimits.totalMsMax,
  }: SearchOptions,
): Promise<string> {
  const { clock } = instance;
  const endMs = clock.monotonic() + totalMsMax;
  const { caller } = input;
  const trimmed = text.replaceAll(/\p{Cc}/gu, ' ').trim();
  const { textMin, textMax, collectionsMax, recordsMin, itemsMax } = searchLimits;
  if (trimmed.length < textMin || trimmed.length > textMax || !trimmed.isWellFormed())
    throw parameterError('text', `Expected ${textMin} to ${textMax} characters to search for.`);
  const admitted = instance.collections
    .all()
    .filter(({ system, type }) => !system && type !== 'view')
    .filter((collection) => !isLocked(collection, ['listRule'], caller))
    .toSorted((a, b) => Number(hasIndexed(b)) - Number(hasIndexed(a)) || (a.name < b.name ? -1 : 1));
  const recordsMax = Math.max(
    recordsMin,
    Math.floor(recordsInAllMax / Math.max(1, Math.min(admitted.length, collectionsMax))),
  );
  const items: string[] = [];
  let [searched, skipped] = [0, 0];
  for (const collection of admitted.slice(0, collectionsMax)) {
    if (items.length >= itemsMax || signal?.aborted === true) break;
    const search = { collection, text: trimmed, memory, recordsMax, leftMs: () => endMs - clock.monotonic() };
    const matches = await unlessBroken(instance, [], () =>
      unlessLate(() => searchOne(instance, input, search)),
    );
    if (matches === undefined) skipped += 1;
    else searched += 1;
    items.push(...(matches ?? []));
  }
  const bounds = { collections: admitted.length, searched, skipped, recordsMax };
  return `{"items":[${items.slice(0, itemsMax).join(',')}],${JSON.stringify(bounds).slice(1)}`;
}

/** Returns undefined for a search that has not ended in time. */
async function unlessLate<Result>(search: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await search();
  } catch (error) {
    if (error instanceof QueryTimeout) return undefined;
    throw error;
  }
}

interface CollectionSearch {
  readonly collection: Collection;
  readonly text: string;
  readonly memory: RowMemory;
  readonly recordsMax: number;
  /** What is left of the time of the whole search. */
  readonly leftMs: () => number;
}

async function searchOne(
  instance: Instance,
  input: RuleInput,
  { collection, text, memory, recordsMax, leftMs }: CollectionSearch,
): Promise<readonly string[]> {
  const fields = searchedFields(collection, input.caller);
  const indexed = indexedNames(collection);
  const value = JSON.stringify(text);
  const equal = ['id', ...fields.filter((name) => indexed.has(name))].map((name) => `${name} = ${value}`);
  const search = { collection, memory, leftMs };
  const records = await listMatches(instance, input, { ...search, filter: equal.join(' || ') });
  if (records.length < searchLimits.itemsOfCollectionMax && fields.length > 0) {
    const parts = fields.map((name) => `${name} ~ ${value}`).join(' || ');
    const ids = new Set(records.map((record) => valueOf(record, 'id')));
    const more = await listMatches(instance, input, { ...search, filter: parts, recordsMax });
    records.push(...more.filter((record) => !ids.has(valueOf(record, 'id'))));
  }
  const texts = await presentRecords(
    { instance, input },
    records.slice(0, searchLimits.itemsOfCollectionMax),
  );
  const projection = parseFields(
    ['id', 'collectionId', 'collectionName', ...fields.map((name) => `${name}:excerpt(200,true)`)].join(),
  );
  return projection === undefined ? texts : projectTexts(texts, projection);
}

interface MatchSearch {
  readonly collection: Collection;
  readonly memory: RowMemory;
  readonly leftMs: () => number;
  readonly filter: string;
  /** Only so many of the newest records are read; undefined for a filter that indexes answer. */
  readonly recordsMax?: number;
}

async function listMatches(
  instance: Instance,
  input: RuleInput,
  { collection, memory, leftMs, filter, recordsMax }: MatchSearch,
): Promise<StoredRecord[]> {
  const { database } = instance;
  const rule = admit(collection, 'listRule', input.caller);
  const ruleInput = rule === undefined ? input : await lookUpCaller(instance, input, rule);
  const context = scopeContext(instance, ruleInput);
  const { names, now } = context;
  const scope = new RecordScope(context, { collection, alias: baseAlias }, { joinsOutside: true });
  if (rule !== undefined) scope.addRule(parseRule(rule));
  const { columns, from } = recordTable(collection).statements(names).joined;
  const isInTime = names.isInTime(position, 'for some');
  const where: Sql | undefined =
    recordsMax === undefined
      ? undefined
      : sql`${position} > (SELECT max("$position") FROM ${names.collectionTable(collection.name)}) - ${recordsMax}`;
  const timeoutMs = Math.ceil(leftMs());
  if (timeoutMs <= 0) throw new QueryTimeout();
  const { items } = await runList(
    database,
    {
      page: 1,
      perPage: searchLimits.itemsOfCollectionMax,
      skipTotal: true,
      cursor: undefined,
      filter: parseFilter(filter),
      sort: parseSort('-@rowid'),
      fields: undefined,
      memory,
      timeoutMs,
    },
    {
      columns,
      from,
      ...(where && { where }),
      ...(isInTime && { isInTime }),
      tieBreaker: { sql: position, kind: 'number', isNeverNull: true },
      resolve: scope.resolve,
      scope: scope.forList(),
      dialect: names.dialect,
      now,
    },
  );
  return items.map((tuple) => fromTuple(collection, tuple));
}

const position = sql`${baseAlias}."$position"`;
const textTypes: ReadonlySet<string> = new Set(['text', 'email', 'url']);

/** The names of the fields that are searched: those that stand for a record and indexed ones, else the first text. */
function searchedFields(collection: Collection, caller: Caller): readonly string[] {
  const texts = collection.fields.filter(
    ({ name, type, hidden }) =>
      textTypes.has(type) && name !== 'id' && name !== 'tokenKey' && (!hidden || caller.kind === 'superuser'),
  );
  const indexed = indexedNames(collection);
  const marked = texts.filter(({ name, presentable }) => presentable || indexed.has(name));
  return (marked.length > 0 ? marked : texts.slice(0, 1)).map(({ name }) => name);
}

/** The fields that an index begins with. */
function indexedNames({ indexes }: Collection): ReadonlySet<string> {
  return new Set(indexes.flatMap(({ columns: [first] }) => (first === undefined ? [] : [first.name])));
}

function hasIndexed(collection: Collection): boolean {
  const indexed = indexedNames(collection);
  return collection.fields.some(({ name, type }) => textTypes.has(type) && indexed.has(name));
}
