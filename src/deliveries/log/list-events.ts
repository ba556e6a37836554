import { type Caller, reachedEndpoints } from '../../access/caller.ts';
import { notFound } from '../../base/errors.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { readContext } from '../../events/event-context.ts';
import { kindOfBody, recordEventKinds } from '../../events/event.ts';
import { findEvent } from '../../events/find-event.ts';
import type { ListQuery } from '../../query/list-query.ts';
import { column, columnResolver, type ListedTable, tableSource } from '../../query/list-source.ts';
import { type ListResult, runList } from '../../query/run-list.ts';
import { cursorsOfList } from '../../secrets/seal-position.ts';
import { joinSql, sql, type Sql } from '../../sql/sql.ts';
import type { Names, Tuple } from '../../storage/database.ts';
import { type PastMessage, pastMessage } from './past-events.ts';
import { shapeBody, thinBody } from '../deliveries.ts';
import { type DeliveryView, readDeliveriesOf } from './delivery-log.ts';
import { searchedBody } from './searched-body.ts';
import { isReached, ownerText } from '../../endpoints/endpoint-reach.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';

/** An event with its delivery to each endpoint. */
export interface EventView {
  readonly id: string;
  readonly kind: string;
  readonly collection: string;
  readonly record: string;
  readonly revision: number;
  readonly created: string;
  /** When its body was expunged; empty where it was not. */
  readonly expunged: string;
  /** The author of the change; empty for the test event, and for a key that is bound to endpoints. */
  readonly actor: string;
  /** How many webhooks have led to this one, itself included; 0 for the test event. */
  readonly hops: number;
  /** The visible fields that an update has changed. */
  readonly changed: readonly string[];
  readonly deliveries: readonly DeliveryView[];
}

const columns = sql`position, id, kind, collection_name, record, revision, created, context, expunged`;
const contextColumn = 7;
const expungedColumn = 8;

const named = {
  id: column('text', sql`id`),
  kind: column('text', sql`kind`),
  collection: column('text', sql`collection_name`),
  record: column('text', sql`record`),
  revision: column('number', sql`revision`),
  created: column('date', sql`created`),
  expunged: column('date', sql`coalesce(expunged, '')`),
};

/**
 * Returns a page of the log of events, each with its deliveries. With `record`, `{collection}/{id}`, only the events of that record.
 * A renamed collection is found by its id, or by its current name.
 */
export async function listEvents(
  { database, clock, collections, sealer }: WebhookInstance,
  query: ListQuery,
  { record, caller }: { readonly record: string | null; readonly caller: Caller },
): Promise<ListResult<EventView>> {
  const body = searchedBody(database.names, sql`body`, { query, caller });
  const resolve = columnResolver({ ...named, ...body });
  const table: ListedTable = { name: '$event', columns, resolve };
  const [collection = '', id = ''] = record?.split('/') ?? [];
  const collectionId = collections.find(collection)?.id ?? collection;
  const conditions = [
    ...(record === null
      ? []
      : [
          sql`record = ${id} AND collection = ${collectionId} AND kind${database.names.anyOf(recordEventKinds)}`,
        ]),
    ...reachedDelivery(database.names, caller),
  ];
  const where = conditions.length === 0 ? undefined : joinSql(conditions, ' AND ');
  const source = {
    ...tableSource(database, where === undefined ? table : { ...table, where }, clock.now()),
    sealer: cursorsOfList(sealer, ['events', query.filter ?? null, query.sort, record]),
  };
  // The log is in the order in which events were made: so its key serves the order.
  const sort = query.sort.map((key) => (key.name === 'created' ? { ...key, name: '@rowid' } : key));
  const page = await runList(database, { ...query, sort }, source);
  const deliveries = await readDeliveriesOf(database, page.items.map(positionOf), caller);
  return {
    ...page,
    items: page.items.map((row) => toView(row, deliveries.get(positionOf(row)) ?? [], caller)),
  };
}

/** Returns the condition that an event has a delivery to an endpoint that the caller reaches; none for a caller that reaches all. */
function reachedDelivery(names: Names, caller: Caller): readonly Sql[] {
  const reached = isReached(names, sql`d.endpoint`, caller);
  if (reached === undefined) return [];
  const delivery = names.table('$delivery');
  return [
    sql`EXISTS (SELECT 1 FROM ${delivery} d WHERE ${names.instance.conditionOf('d')} AND d.event = position AND ${reached})`,
  ];
}

/** Reads an event with its deliveries and the body that receivers get, null where it was expunged. Throws not_found. */
export async function readEvent(
  instance: WebhookInstance,
  id: string,
  caller: Caller,
): Promise<EventView & { readonly body: unknown }> {
  const { database } = instance;
  const position = await findEvent(database, id);
  if (position === undefined) throw notFound();
  const { names } = database;
  const [row] = await database.tuples(sql`
    SELECT ${columns}, body FROM ${names.table('$event')} WHERE ${names.instance.condition} AND position = ${position}`);
  if (row === undefined) throw notFound();
  const deliveries = (await readDeliveriesOf(database, [position], caller)).get(position) ?? [];
  const isBound = reachedEndpoints(caller) !== null;
  if (isBound && deliveries.length === 0) throw notFound();
  const view = toView(row, deliveries, caller);
  // The column is a BLOB with JSON, and never null.
  const body = row.at(-1) as Uint8Array;
  if (view.expunged !== '') return { ...view, body: null };
  if (caller.kind === 'user' && view.collection !== '') {
    // It reads a past event: no more than it may still view.
    const message = await pastMessage(instance, { owner: ownerText(caller) }, position);
    return { ...view, body: message === undefined ? null : await bodyOfReached(instance, message, view) };
  }
  const isThin = body.length > instance.bodyBytesMax;
  const sent = isThin
    ? thinBody({ ...view, kind: sentKind(view, body), collectionName: view.collection }, instance.shownId)
    : body;
  const message = { body: sent, isThin, context: readContext(row.at(contextColumn)) };
  return { ...view, body: isBound ? await bodyOfReached(instance, message, view) : toJson(body) };
}

function sentKind({ kind }: EventView, body: Uint8Array): string {
  return kind === 'test' ? kindOfBody(body) : kind;
}

/**
 * Returns the body of an event with the members that the endpoints of its deliveries receive together, so that a key that is bound to them reads
 * no more of a record than they do.
 */
async function bodyOfReached(
  { database, endpoints }: WebhookInstance,
  { body, isThin, context }: PastMessage,
  view: EventView,
): Promise<JsonObject> {
  const { deliveries, record } = view;
  const kind = sentKind(view, body);
  const endpointIds = new Set(deliveries.map(({ endpoint }) => endpoint));
  const bodies = (await endpoints.stored(database))
    .filter((endpoint) => endpointIds.has(endpoint.id))
    .map((endpoint) => toJson(shapeBody({ kind, record, body, isThin, context }, endpoint)));
  const members = Object.entries(together(bodies)).map(([name, value]) => {
    const parts = bodies.map((one) => one[name]).filter(isJsonObject);
    return [name, parts.length === 0 ? value : together(parts)] as const;
  });
  return Object.fromEntries(members);
}

function together(objects: readonly JsonObject[]): JsonObject {
  return Object.fromEntries(objects.flatMap((one) => Object.entries(one)));
}

function toJson(body: Uint8Array): JsonObject {
  // Every body of ours is an object.
  return JSON.parse(Buffer.from(body).toString('utf8')) as JsonObject;
}

function positionOf([position]: Tuple): number {
  return Number(position);
}

/** A key that is bound to endpoints does not see the author of the change: that may be any account. */
function toView(row: Tuple, deliveries: readonly DeliveryView[], caller: Caller): EventView {
  const [, id, kind, collection, record, revision, created] = row;
  const expunged = row.at(expungedColumn);
  const { actor, hops, changed = [] } = readContext(row.at(contextColumn)) ?? { actor: '', hops: 0 };
  return {
    id: String(id),
    kind: String(kind),
    collection: String(collection),
    record: String(record),
    revision: Number(revision),
    created: String(created),
    expunged: typeof expunged === 'string' ? expunged : '',
    actor: reachedEndpoints(caller) === null ? actor : '',
    hops,
    changed,
    deliveries,
  };
}
