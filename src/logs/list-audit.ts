import type { JsonObject } from '../base/json.ts';
import type { Timestamp } from '../base/timestamp.ts';
import { column, columnResolver, type ListedTable, tableSource } from '../query/list-source.ts';
import type { ListQuery } from '../query/list-query.ts';
import { type ListResult, runList } from '../query/run-list.ts';
import { sql } from '../sql/sql.ts';
import type { Tuple } from '../storage/database.ts';
import type { AuditedInstance } from './audit-log.ts';

/** An entry as superusers see it. */
export interface AuditView {
  readonly id: string;
  readonly created: Timestamp;
  /** When the last one happened, where several are counted in one entry. */
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

const resolve = columnResolver({
  id: column('text', sql`id`),
  created: column('date', sql`created`),
  until: column('date', sql`until`),
  count: column('number', sql`count`),
  action: column('text', sql`action`),
  outcome: column('text', sql`outcome`),
  actor: column('text', sql`actor`),
  actorId: column('text', sql`actor_id`),
  address: column('text', sql`address`),
  requestId: column('text', sql`request`),
  collection: column('text', sql`collection`),
  target: column('text', sql`target`),
});

const entries: ListedTable = { name: '$audit', columns, resolve };

/** A page of the audit log, the oldest entry first by default. */
export async function listAudit(
  instance: Pick<AuditedInstance, 'database' | 'clock'>,
  query: ListQuery,
): Promise<ListResult<AuditView>> {
  const { database } = instance;
  const page = await runList(database, query, tableSource(database, entries, instance.clock.now()));
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
