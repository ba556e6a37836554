import { AppError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import { fieldColumn, type Field } from '../fields/field.ts';
import { jsonPath } from '../filters/json-path.ts';
import type { Operand, OperandKind, Resolve } from '../filters/operand.ts';
import { dialectOf } from '../filters/dialect-of.ts';
import type { Instance } from '../instances/instance.ts';
import { parseListQuery, type QueryReader } from '../lists/list-query.ts';
import { runList, type ListResult } from '../lists/run-list.ts';
import type { Caller } from '../rules/caller.ts';
import { admit } from '../rules/rule.ts';
import { sql } from '../sql/sql.ts';
import type { Names } from '../storage/database.ts';
import { recordStatements } from './record-statements.ts';
import { fromTuple, type StoredRecord } from './record.ts';
import { withCurrentCollection } from './with-current-collection.ts';

export type RecordPage = Omit<ListResult, 'items'> & { readonly items: readonly StoredRecord[] };

/** A page of a collection's records. Throws not_found (collection), forbidden (null rule), bad_request (filter, sort). */
export function listRecords(
  instance: Instance,
  caller: Caller,
  request: { readonly collection: string; readonly query: QueryReader },
): Promise<RecordPage> {
  return withCurrentCollection(instance, request.collection, async (collection) => {
    admit(collection.rules.listRule, caller);
    if (caller.kind !== 'superuser') refuseRuleNames(request.query);
    const statements = recordStatements(collection, instance.database.names);
    const page = await runList(instance.database, parseListQuery(request.query), {
      columns: statements.columns,
      from: statements.table,
      tieBreaker: position,
      resolve: fieldResolver(collection, {
        names: instance.database.names,
        isSuperuser: caller.kind === 'superuser',
      }),
      dialect: dialectOf(instance.database.names.engine),
      now: instance.clock.now(),
    });
    return { ...page, items: page.items.map((tuple) => fromTuple(collection, tuple)) };
  });
}

/** What a rule may ask for, a client may not: not even in a text, so that no way of writing it gets past. */
function refuseRuleNames(query: QueryReader): void {
  const asked = `${query.get('filter') ?? ''} ${query.get('sort') ?? ''}`;
  for (const name of ['@collection.', '@request.'])
    if (asked.includes(name)) throw new AppError('forbidden', `Only superusers can filter by ${name}`);
}

const position: Operand = { sql: sql`"$position"`, kind: 'number', isNeverNull: true };

/** What names mean in a filter: the collection's own fields. A hidden one is, to all but superusers, no field at all. */
function fieldResolver(
  collection: Collection,
  { names, isSuperuser }: { readonly names: Names; readonly isSuperuser: boolean },
): Resolve {
  return (name) => {
    const [first = '', ...rest] = name.split('.');
    const field = collection.fields.find((candidate) => candidate.name === first);
    if (field === undefined || (field.hidden && !isSuperuser)) return undefined;
    const column = { sql: names.column(field.name), kind: operandKind(field) };
    // Only json knows null; every other zero value is stored.
    const operand: Operand = field.type === 'json' ? column : { ...column, isNeverNull: true };
    if (rest.length === 0) return operand;
    if (field.type !== 'json') return undefined;
    return { ...operand, path: jsonPath(rest) };
  };
}

/** Multiple values compare as the JSON text they are stored as; only a json field is looked into. */
function operandKind(field: Field): OperandKind {
  if (field.type === 'json') return 'json';
  if (field.type === 'date' || field.type === 'autodate') return 'date';
  const column = fieldColumn(field);
  return column === 'json' ? 'text' : column;
}
