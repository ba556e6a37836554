import { notFound } from '../base/errors.ts';
import { readContext } from '../events/event-context.ts';
import { findEvent } from '../events/find-event.ts';
import type { ListQuery } from '../query/list-query.ts';
import { column, columnResolver, type ListedTable, tableSource } from '../query/list-source.ts';
import { type ListResult, runList } from '../query/run-list.ts';
import { cursorsOfList } from '../secrets/seal-position.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Reader, Tuple } from '../storage/database.ts';
import { type DeliveryView, readDeliveriesOf } from './delivery-log.ts';
import type { WebhookInstance } from './webhook-instance.ts';

/** An event with what became of it on its way to each endpoint. */
export interface EventView {
  readonly id: string;
  readonly kind: string;
  readonly collection: string;
  readonly record: string;
  readonly revision: number;
  readonly created: string;
  /** Who has made the change; empty for the test event. */
  readonly actor: string;
  /** How many webhooks have led to this one, itself included; 0 for the test event. */
  readonly hops: number;
  /** The visible fields that an update has changed. */
  readonly changed: readonly string[];
  readonly deliveries: readonly DeliveryView[];
}

const columns = sql`position, id, kind, collection_name, record, revision, created, context`;

const resolve = columnResolver({
  id: column('text', sql`id`),
  kind: column('text', sql`kind`),
  collection: column('text', sql`collection_name`),
  record: column('text', sql`record`),
  revision: column('number', sql`revision`),
  created: column('date', sql`created`),
});

/**
 * Returns a page of the log of events, each with its deliveries. With `record`, `{collection}/{id}`, only what happened to that record: its
 * story. A collection that was renamed is found by its id, or by the name that it has now.
 */
export async function listEvents(
  { database, clock, collections, sealer }: WebhookInstance,
  query: ListQuery,
  record: string | null,
): Promise<ListResult<EventView>> {
  const table: ListedTable = { name: '$event', columns, resolve };
  const [collection = '', id = ''] = record?.split('/') ?? [];
  const found = collections.find(collection)?.id ?? collection;
  const where: Sql = sql`record = ${id} AND collection = ${found}`;
  const source = {
    ...tableSource(database, record === null ? table : { ...table, where }, clock.now()),
    sealer: cursorsOfList(sealer, ['events', query.filter ?? null, query.sort, record]),
  };
  // The log is in the order in which events were made: so its key serves the order.
  const sort = query.sort.map((key) => (key.name === 'created' ? { ...key, name: '@rowid' } : key));
  const page = await runList(database, { ...query, sort }, source);
  const deliveries = await readDeliveriesOf(database, page.items.map(positionOf));
  return { ...page, items: page.items.map((row) => toView(row, deliveries.get(positionOf(row)) ?? [])) };
}

/** Reads an event with its deliveries and the body that receivers get. Throws not_found. */
export async function readEvent(reader: Reader, id: string): Promise<EventView & { readonly body: unknown }> {
  const position = await findEvent(reader, id);
  if (position === undefined) throw notFound();
  const { names } = reader;
  const [row] = await reader.tuples(sql`
    SELECT ${columns}, body FROM ${names.table('$event')} WHERE ${names.scope} AND position = ${position}`);
  if (row === undefined) throw notFound();
  const deliveries = await readDeliveriesOf(reader, [position]);
  // The column is a BLOB with JSON, and never null.
  const body: unknown = JSON.parse(Buffer.from(row.at(-1) as Uint8Array).toString('utf8'));
  return { ...toView(row, deliveries.get(position) ?? []), body };
}

function positionOf([position]: Tuple): number {
  return Number(position);
}

function toView(row: Tuple, deliveries: readonly DeliveryView[]): EventView {
  const [, id, kind, collection, record, revision, created, stored] = row;
  const { actor, hops, changed = [] } = readContext(stored) ?? { actor: '', hops: 0 };
  return {
    id: String(id),
    kind: String(kind),
    collection: String(collection),
    record: String(record),
    revision: Number(revision),
    created: String(created),
    actor,
    hops,
    changed,
    deliveries,
  };
}
