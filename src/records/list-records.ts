import { AppError } from '../base/errors.ts';
import { GenerationMap } from '../base/generation-map.ts';
import type { Collection } from '../collections/collection.ts';
import { RecordScope, baseAlias } from '../collections/record-scope.ts';
import { dialectOf } from '../filters/dialect-of.ts';
import type { Operand } from '../filters/operand.ts';
import type { FilterTree } from '../filters/tree.ts';
import type { Instance } from '../instances/instance.ts';
import { isLasting } from '../filters/is-lasting.ts';
import type { CursorSealer } from '../lists/cursor.ts';
import type { ListPage } from '../lists/list-page.ts';
import { parseListQuery, type ListQuery, type QueryReader } from '../lists/list-query.ts';
import type { ListSource } from '../lists/list-source.ts';
import { prepareJsonList, runJsonList, type JsonList } from '../lists/run-json-list.ts';
import { runList } from '../lists/run-list.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import { admit } from '../rules/rule.ts';
import { SecretError } from '../secrets/secret-error.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Access } from '../storage/database.ts';
import { lookUpCaller } from './look-up-caller.ts';
import { presentRecords } from './present-records.ts';
import { readStatements } from './read-statements.ts';
import { recordJson } from './record-json.ts';
import { fromTuple } from './record.ts';
import { withCurrentCollection } from './with-current-collection.ts';

export interface RecordPage extends ListPage {
  /** The JSON of each record, as the caller may see it. */
  readonly items: readonly string[];
  /** For superusers, who can do something about it: whether an index led to them. */
  readonly access: Access | undefined;
}

/** A page of a collection's records. Throws not_found (collection), forbidden (null rule), bad_request (filter, sort). */
export function listRecords(
  instance: Instance,
  facts: RequestFacts,
  request: { readonly collection: string; readonly query: QueryReader },
): Promise<RecordPage> {
  return withCurrentCollection(instance, request.collection, async (collection) => {
    const { database } = instance;
    const rule = admit(collection, 'listRule', facts.caller);
    const isSuperuser = facts.caller.kind === 'superuser';
    if (!isSuperuser) refuseRuleNames(request.query);
    const json = isWhole(request.query)
      ? recordJson(collection, database.names, { withHidden: isSuperuser })
      : undefined;
    // What cannot be told now is left out: the list itself is there.
    const accessOf = async (probe: Sql, isFiltered: boolean): Promise<Access | undefined> =>
      isSuperuser ? database.access(probe, { isFiltered }).catch(() => undefined) : undefined;
    const asked = { collection, rule, asked: request.query };
    if (json !== undefined) {
      const list = await jsonListOf(instance, facts, { ...asked, json });
      const page = await runJsonList(list);
      return { ...page, access: await accessOf(page.probe, list.query.filter !== undefined) };
    }
    const query = parseListQuery(request.query);
    const page = await runList(database, query, await sourceOf(instance, facts, { ...asked, query }));
    const records = page.items.map((tuple) => fromTuple(collection, tuple));
    const items = await presentRecords({ instance, facts }, records);
    return { ...page, items, access: await accessOf(page.probe, query.filter !== undefined) };
  });
}

/** By pages, and all of each record: as many lists are asked for, and as an engine can write them. */
function isWhole(query: QueryReader): boolean {
  return query.get('cursor') === null && !query.get('fields') && !query.get('expand');
}

interface AskedList {
  readonly collection: Collection;
  readonly rule: FilterTree | undefined;
  readonly asked: QueryReader;
}

/** By the way of writing rows, which belongs to one definition, and by what was asked for. */
const prepared = new GenerationMap<string, JsonList>(1_000);
/** Longer ones would fill the memory, and hardly anybody asks for one of them twice. */
const keyLengthMax = 500;

/** Put together once for all who ask for the same, where it means the same to all of them. */
async function jsonListOf(
  instance: Instance,
  facts: RequestFacts,
  list: AskedList & { readonly json: Sql },
): Promise<JsonList> {
  const { json, rule, asked } = list;
  const key = queryKey(json, asked);
  const known = rule === undefined ? prepared.find(key) : undefined;
  if (known !== undefined) return known;
  const query = parseListQuery(asked);
  const source = await sourceOf(instance, facts, { ...list, query });
  const made = prepareJsonList(instance.database, query, { ...source, json, version });
  const isForAll = rule === undefined && isLasting(query.filter, query.sort);
  if (isForAll && key.length <= keyLengthMax) prepared.add(key, made);
  return made;
}

const version = sql`${baseAlias}."$position", ${baseAlias}."$revision"`;

const listParameters = ['page', 'perPage', 'skipTotal', 'sort', 'filter'];
/** Numbers of ways of writing rows. */
const numbers = new WeakMap<Sql, number>();
let lastNumber = 0;

/** All that a list is told by; no value of a query holds U+0000. */
function queryKey(json: Sql, query: QueryReader): string {
  const number = numbers.get(json) ?? (lastNumber += 1);
  numbers.set(json, number);
  let key = String(number);
  for (const name of listParameters) key += `\u0000${query.get(name) ?? ''}`;
  return key;
}

async function sourceOf(
  instance: Instance,
  asker: RequestFacts,
  { collection, rule, query, asked }: AskedList & { readonly query: ListQuery },
): Promise<ListSource> {
  const { database, collections } = instance;
  const { names } = database;
  const facts = rule === undefined ? asker : await lookUpCaller(instance, asker, collection.rules.listRule);
  const now = instance.clock.now();
  const scope = new RecordScope(
    { collections, names, facts, now },
    { collection, alias: baseAlias },
    { joinsOutside: true },
  );
  if (rule !== undefined) scope.add(rule, 'rule');
  const trust = facts.caller.kind === 'superuser' ? 'rule' : 'client';
  const { columns, from } = readStatements(collection, names);
  const isInTime = names.isInTime(baseAlias, 'for some');
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

/** Bound to what the list is of: behind another filter or order, or for another caller, a position means nothing. */
function cursorsOf(
  { sealer }: Instance,
  { caller }: RequestFacts,
  { collection, query }: { readonly collection: Collection; readonly query: QueryReader },
): CursorSealer {
  const bound = [collection.id, query.get('filter'), query.get('sort'), caller];
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

/** What a rule may ask for, a client may not: not even in a text, so that no way of writing it gets past. */
function refuseRuleNames(query: QueryReader): void {
  const asked = `${query.get('filter') ?? ''} ${query.get('sort') ?? ''}`;
  for (const name of ['@collection.', '@request.'])
    if (asked.includes(name)) throw new AppError('forbidden', `Only superusers can filter by ${name}`);
}

const position: Operand = { sql: sql`${baseAlias}."$position"`, kind: 'number', isNeverNull: true };
