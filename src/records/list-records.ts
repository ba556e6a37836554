import { AppError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import type { CursorSealer } from '../lists/cursor.ts';
import { SecretError } from '../secrets/secret-error.ts';
import { RecordScope, baseAlias } from '../collections/record-scope.ts';

import { dialectOf } from '../filters/dialect-of.ts';
import type { Operand } from '../filters/operand.ts';
import type { Instance } from '../instances/instance.ts';
import { parseListQuery, type QueryReader } from '../lists/list-query.ts';
import { runList, type ListResult } from '../lists/run-list.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import { admit } from '../rules/rule.ts';
import { sql } from '../sql/sql.ts';
import { readStatements } from './read-statements.ts';
import { fromTuple, type StoredRecord } from './record.ts';
import { withCurrentCollection } from './with-current-collection.ts';

export type RecordPage = Omit<ListResult, 'items'> & { readonly items: readonly StoredRecord[] };

/** A page of a collection's records. Throws not_found (collection), forbidden (null rule), bad_request (filter, sort). */
export function listRecords(
  instance: Instance,
  facts: RequestFacts,
  request: { readonly collection: string; readonly query: QueryReader },
): Promise<RecordPage> {
  return withCurrentCollection(instance, request.collection, async (collection) => {
    const { database, collections } = instance;
    const { names } = database;
    const { caller } = facts;
    const rule = admit(collection.rules.listRule, caller);
    if (caller.kind !== 'superuser') refuseRuleNames(request.query);
    const now = instance.clock.now();
    const scope = new RecordScope(
      { collections, names, facts, now },
      { collection, alias: baseAlias },
      { joinsOutside: true },
    );
    if (rule !== undefined) scope.add(rule, 'rule');
    const asker = caller.kind === 'superuser' ? 'rule' : 'client';
    const { columns, from } = readStatements(collection, names);
    const query = parseListQuery(request.query);
    // A page in the order of the table is found without a search.
    const isSearch = rule !== undefined || query.filter !== undefined || query.sort.length > 0;
    const isInTime = isSearch ? names.isInTime(baseAlias, 'for some') : undefined;
    const page = await runList(database, query, {
      columns,
      from,
      ...(isInTime && { where: isInTime }),
      tieBreaker: position,
      resolve: scope.resolver(asker),
      scope: scope.forList(asker),
      dialect: dialectOf(names.engine),
      ...(query.cursor !== undefined && {
        cursors: cursorsOf(instance, facts, { collection, query: request.query }),
      }),
      now,
    });
    return { ...page, items: page.items.map((tuple) => fromTuple(collection, tuple)) };
  });
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
