import type { JsonObject } from '../base/json.ts';
import type { Timestamp } from '../base/timestamp.ts';
import { dialectOf } from '../filters/dialect-of.ts';
import type { Operand } from '../filters/operand.ts';
import type { Instance } from '../instances/instance.ts';
import { columnResolver } from '../lists/column-resolver.ts';
import type { ListQuery } from '../lists/list-query.ts';
import { runList, type ListResult } from '../lists/run-list.ts';
import { sql } from '../sql/sql.ts';
import type { Tuple } from '../storage/database.ts';

/** An entry as superusers see it. */
export interface AuditView {
  readonly id: string;
  readonly created: Timestamp;
  /** Of the last one, where several are counted in one entry. */
  readonly until: Timestamp;
  readonly count: number;
  readonly action: string;
  readonly outcome: string;
  readonly actor: string;
  readonly actorId: string;
  readonly address: string;
  readonly requestId: string;
  readonly collection: string;
  readonly target: string;
  readonly details: JsonObject;
}

const columns = sql`id, created, until, count, action, outcome, actor, actor_id, address, request, collection, target, details`;

function text(column: Operand['sql']): Operand {
  return { sql: column, kind: 'text', isNeverNull: true };
}

const resolve = columnResolver({
  id: text(sql`id`),
  created: { sql: sql`created`, kind: 'date', isNeverNull: true },
  until: { sql: sql`until`, kind: 'date', isNeverNull: true },
  count: { sql: sql`count`, kind: 'number', isNeverNull: true },
  action: text(sql`action`),
  outcome: text(sql`outcome`),
  actor: text(sql`actor`),
  actorId: text(sql`actor_id`),
  address: text(sql`address`),
  requestId: text(sql`request`),
  collection: text(sql`collection`),
  target: text(sql`target`),
});

const position: Operand = { sql: sql`position`, kind: 'number', isNeverNull: true };

/** A page of the audit log, the oldest entry first when nothing else is asked for. */
export async function listAudit(
  instance: Instance,
  query: ListQuery,
): Promise<Omit<ListResult, 'items'> & { readonly items: readonly AuditView[] }> {
  const { database } = instance;
  const page = await runList(database, query, {
    columns,
    from: database.names.table('$audit'),
    where: database.names.scope,
    tieBreaker: position,
    resolve,
    dialect: dialectOf(database.names.engine),
    now: instance.clock.now(),
  });
  return { ...page, items: page.items.map(toView) };
}

function toView(tuple: Tuple): AuditView {
  const [id, created, until, count, action, outcome, actor, actorId, address, requestId, ...rest] = tuple;
  const [collection, target, details] = rest;
  return {
    id: String(id),
    created: String(created),
    until: String(until),
    count: Number(count),
    action: String(action),
    outcome: String(outcome),
    actor: String(actor),
    actorId: String(actorId),
    address: String(address),
    requestId: String(requestId),
    collection: String(collection),
    target: String(target),
    // Written by AuditLog, from an object.
    details: JSON.parse(String(details)) as JsonObject,
  };
}
