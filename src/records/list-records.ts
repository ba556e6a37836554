import { AppError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import { RecordScope, baseAlias } from '../collections/record-scope.ts';
import { dialectOf } from '../filters/dialect-of.ts';
import type { Operand } from '../filters/operand.ts';
import type { FilterTree } from '../filters/tree.ts';
import type { Instance } from '../instances/instance.ts';
import type { CursorSealer } from '../lists/cursor.ts';
import type { ListPage } from '../lists/list-page.ts';
import { parseListQuery, type ListQuery, type QueryReader } from '../lists/list-query.ts';
import type { ListSource } from '../lists/list-source.ts';
import { runJsonList } from '../lists/run-json-list.ts';
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
  /** The JSON of the records, as the caller may see them: a text of each, or all in UTF-8 with commas between them. */
  readonly items: readonly string[] | Uint8Array;
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
    const { names } = database;
    const rule = admit(collection, 'listRule', facts.caller);
    const isSuperuser = facts.caller.kind === 'superuser';
    if (!isSuperuser) refuseRuleNames(request.query);
    const query = parseListQuery(request.query);
    const known = rule === undefined ? facts : await lookUpCaller(instance, facts, collection.rules.listRule);
    const source = sourceOf(instance, known, { collection, rule, query, asked: request.query });
    const expand = request.query.get('expand') ?? '';
    const isWhole = query.cursor === undefined && query.fields === undefined && expand === '';
    const json = isWhole ? recordJson(collection, names, { withHidden: isSuperuser }) : undefined;
    // What cannot be told now is left out: the list itself is there.
    const accessOf = async ({ probe }: { readonly probe: Sql }): Promise<Access | undefined> =>
      isSuperuser
        ? database.access(probe, { isFiltered: query.filter !== undefined }).catch(() => undefined)
        : undefined;
    if (json !== undefined) {
      const page = await runJsonList(database, query, { ...source, json, writer: names.json });
      return { ...page, access: await accessOf(page) };
    }
    const page = await runList(database, query, source);
    const records = page.items.map((tuple) => fromTuple(collection, tuple));
    const items = await presentRecords({ instance, facts }, records);
    return { ...page, items, access: await accessOf(page) };
  });
}

function sourceOf(
  instance: Instance,
  facts: RequestFacts,
  list: {
    readonly collection: Collection;
    readonly rule: FilterTree | undefined;
    readonly query: ListQuery;
    readonly asked: QueryReader;
  },
): ListSource {
  const { database, collections } = instance;
  const { names } = database;
  const { caller } = facts;
  const { collection, rule, query, asked } = list;
  const now = instance.clock.now();
  const scope = new RecordScope(
    { collections, names, facts, now },
    { collection, alias: baseAlias },
    { joinsOutside: true },
  );
  if (rule !== undefined) scope.add(rule, 'rule');
  const asker = caller.kind === 'superuser' ? 'rule' : 'client';
  const { columns, from } = readStatements(collection, names);
  const isInTime = names.isInTime(baseAlias, 'for some');
  return {
    columns,
    from,
    ...(isInTime && { isInTime }),
    tieBreaker: position,
    resolve: scope.resolver(asker),
    scope: scope.forList(asker),
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
