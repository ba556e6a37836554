import type { Caller } from '../../access/caller.ts';
import { AppError, notFound } from '../../base/errors.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import { isTest } from '../../events/event.ts';
import { findEvent } from '../../events/find-event.ts';
import type { Operand } from '../../filters/operand.ts';
import type { FilterTree } from '../../filters/parse.ts';
import type { ListQuery } from '../../query/list-query.ts';
import { column, columnResolver } from '../../query/list-source.ts';
import { type ListResult, runList } from '../../query/run-list.ts';
import { cursorsOfList } from '../../secrets/seal-position.ts';
import { joinSql, literal, sql, type Sql } from '../../sql/sql.ts';
import type { InlineColumn, Names, Reader, Row, Transaction, Tuple } from '../../storage/database.ts';
import { deliveryId, type DeliveryKey, keyText } from '../deliveries.ts';
import { type DeliveryStatus, deliveryStatuses } from '../delivery.ts';
import { isReached } from '../../endpoints/endpoint-reach.ts';
import { deletedCause, moveDelivery } from '../delivery-outcomes.ts';
import { recordKey } from '../record-order.ts';
import { findPendingKeys } from './pending-keys.ts';
import { searchedBody } from './searched-body.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';

/** A delivery with its event and its attempts, as its owner sees it. */
export interface DeliveryView {
  readonly id: string;
  readonly endpoint: string;
  readonly event: string;
  readonly kind: string;
  readonly collection: string;
  readonly record: string;
  readonly status: string;
  readonly cause: string;
  /** When the next attempt is due; '' when none is. */
  readonly nextAttempt: string;
  readonly created: string;
  readonly updated: string;
  readonly attempts: readonly AttemptView[];
}

export type AttemptView = Readonly<Record<string, unknown>>;

/**
 * The parts of a statement about deliveries. The status of one is that of its outcome; without one, that of the gap that it lies in, or
 * pending. Failed deliveries of a deleted endpoint count as cancelled.
 */
function partsOf(names: Names): {
  readonly from: Sql;
  readonly columns: Sql;
  readonly status: Sql;
  readonly cause: Sql;
  readonly updated: Sql;
} {
  const event = sql`${names.table('$event')} e ON ${names.instance.conditionOf('e')} AND e.position = d.event`;
  const endpoint = sql`${names.table('$endpoint')} p ON ${names.instance.conditionOf('p')} AND p.position = d.endpoint`;
  const outcome = sql`${names.table('$outcome')} o ON ${names.instance.conditionOf('o')} AND o.event = d.event AND o.endpoint = d.endpoint`;
  const ofGap = (name: Sql): Sql => sql`(
    SELECT g.${name} FROM ${names.table('$gap')} g
    WHERE ${names.instance.conditionOf('g')} AND g.endpoint = d.endpoint AND g.first <= d.event AND g.last >= d.event LIMIT 1)`;
  const isLeft = sql`o.status = 'pending' AND p.deleted <> ''`;
  const status = sql`CASE WHEN o.event IS NULL THEN coalesce(${ofGap(sql`status`)}, 'pending') WHEN ${isLeft} THEN 'cancelled' ELSE o.status END`;
  const cause = sql`CASE WHEN o.event IS NULL THEN coalesce(${ofGap(sql`cause`)}, '') WHEN ${isLeft} THEN ${literal(deletedCause)} ELSE o.cause END`;
  const updated = sql`coalesce(o.updated, ${ofGap(sql`created`)}, e.created)`;
  return {
    // LEFT, so that a count need not read these tables.
    from: sql`${names.table('$delivery')} d LEFT JOIN ${event} LEFT JOIN ${endpoint} LEFT JOIN ${outcome}`,
    columns: sql`d.event, d.endpoint, p.id, e.id, e.kind, e.collection_name, e.record, ${status}, ${cause}, o.due, e.created, ${updated}, o.attempts`,
    status,
    cause,
    updated,
  };
}

/** Returns a page of deliveries, each with its attempts; only {@link readDelivery} returns the responses of receivers. */
export async function listDeliveries(
  { database, clock, sealer }: WebhookInstance,
  query: ListQuery,
  caller: Caller,
): Promise<ListResult<DeliveryView>> {
  const { names } = database;
  const { from, columns, status, cause, updated } = partsOf(names);
  const position = column('number', sql`d.event`);
  const isInTime = names.isInTime(position.sql, 'for every row');
  const reached = isReached(names, sql`d.endpoint`, caller);
  const { conditions, isTooMany } = await narrow(database, query.filter);
  const narrowed = [names.instance.conditionOf('d'), ...(reached ? [reached] : []), ...conditions];
  const source = {
    columns,
    from,
    where: joinSql(narrowed, ' AND '),
    ...(isInTime && { isInTime }),
    tieBreaker: position,
    tieBreakerEnd: column('number', sql`d.endpoint`),
    resolve: columnResolver({
      id: text(sql`e.id || '-' || p.id`),
      endpoint: text(sql`p.id`),
      event: text(sql`e.id`),
      kind: text(sql`e.kind`),
      collection: text(sql`e.collection_name`),
      record: text(sql`e.record`),
      status: text(status),
      cause: text(cause),
      created: column('date', sql`e.created`),
      updated: column('date', updated),
      ...searchedBody(names, sql`e.body`, { query, caller }),
    }),
    sealer: cursorsOfList(sealer, ['deliveries', query.filter ?? null, query.sort]),
    dialect: names.dialect,
    now: clock.now(),
  };
  // The log is in the order in which events were made: so its key serves the order.
  const sort = query.sort.map((key) => (key.name === 'created' ? { ...key, name: '@rowid' } : key));
  // Counting all of them would take longer than a request may.
  const skipTotal = query.skipTotal || isTooMany;
  const page = await runList(database, { ...query, sort, skipTotal }, source);
  const attempts = await readAttempts(database, page.items.map(toKey), false);
  return { ...page, items: page.items.map((item) => toView(item, attempts.get(keyText(toKey(item))) ?? [])) };
}

function text(name: Sql): Operand {
  return column('text', name);
}

interface Narrowing {
  readonly conditions: readonly Sql[];
  /** Whether so many are pending that the log has to be walked. */
  readonly isTooMany: boolean;
}

/**
 * Returns conditions that follow from a filter and lead into an index, while the filter itself would be evaluated for every delivery: its
 * event, its endpoint, that it is exhausted, or still to be sent.
 */
async function narrow(reader: Reader, filter: FilterTree | undefined): Promise<Narrowing> {
  const { names } = reader;
  const conditions: Sql[] = [];
  const texts = new Map(wantedTexts(filter));
  const event = texts.get('event') ?? texts.get('id')?.split('-')[0];
  const status = texts.get('status');
  if (event !== undefined) conditions.push(sql`d.event = ${(await findEvent(reader, event)) ?? -1}`);
  const endpointId = texts.get('endpoint');
  const endpoint = endpointId === undefined ? undefined : ((await findNumber(reader, endpointId)) ?? -1);
  if (endpoint !== undefined) conditions.push(sql`d.endpoint = ${endpoint}`);
  const pending = event === undefined && status === 'pending' ? await findPendingKeys(reader, endpoint) : [];
  if (event === undefined && status === 'pending' && pending !== undefined) {
    const keys = names.valuesTable(
      keyColumns,
      pending.map((key) => [key.event, key.endpoint]),
    );
    conditions.push(
      sql`(d.event, d.endpoint) IN (SELECT CAST(given.event AS bigint), CAST(given.endpoint AS bigint) FROM ${keys})`,
    );
  }
  if (status === 'exhausted')
    conditions.push(sql`(d.event, d.endpoint) IN (
      SELECT event, endpoint FROM ${names.table('$outcome')} WHERE ${names.instance.condition} AND status = 'exhausted')`);
  return { conditions, isTooMany: pending === undefined };
}

const keyColumns: readonly InlineColumn[] = [
  ['event', 'number'],
  ['endpoint', 'number'],
];

/** Returns the number of an endpoint, also of one that was deleted. */
async function findNumber(reader: Reader, id: string): Promise<number | undefined> {
  const { names } = reader;
  const row = await reader.get(
    sql`SELECT position FROM ${names.table('$endpoint')} WHERE ${names.instance.condition} AND id = ${id}`,
  );
  return row === undefined ? undefined : Number(row['position']);
}

/** Returns the names that a filter compares with a text by `=`. */
function wantedTexts(filter: FilterTree | undefined): readonly [name: string, text: string][] {
  if (filter === undefined) return [];
  if (filter.kind === 'and') return filter.items.flatMap(wantedTexts);
  if (filter.kind !== 'comparison' || filter.operator !== '=') return [];
  const { left, right } = filter;
  return left.kind === 'identifier' && right.kind === 'text' ? [[left.name, right.value]] : [];
}

/** Finds a delivery by its id. Throws not_found. */
async function findDelivery(reader: Reader, id: string): Promise<DeliveryKey> {
  const [eventId = '', endpointId = '', ...rest] = id.split('-');
  const event = rest.length > 0 ? undefined : await findEvent(reader, eventId);
  if (event === undefined) throw notFound();
  const endpoint = await findNumber(reader, endpointId);
  if (endpoint === undefined) throw notFound();
  return { event, endpoint };
}

/** Reads one delivery with everything that its attempts recorded. Throws not_found. */
export async function readDelivery(reader: Reader, delivery: string | DeliveryKey): Promise<DeliveryView> {
  const { names } = reader;
  const key = typeof delivery === 'string' ? await findDelivery(reader, delivery) : delivery;
  const { from, columns } = partsOf(names);
  const [row] = await reader.tuples(
    sql`SELECT ${columns} FROM ${from} WHERE ${names.instance.conditionOf('d')} AND d.event = ${key.event} AND d.endpoint = ${key.endpoint}`,
  );
  if (row === undefined) throw notFound();
  const attempts = await readAttempts(reader, [key], true);
  return toView(row, attempts.get(keyText(key)) ?? []);
}

/** The state of a delivery. */
export interface DeliveryOutcome {
  readonly status: DeliveryStatus;
}

/** Reads the states of the deliveries of an event, by the numbers of their endpoints. */
export async function readOutcomesOf(
  reader: Reader,
  event: number,
): Promise<ReadonlyMap<number, DeliveryOutcome>> {
  const { from, status } = partsOf(reader.names);
  const rows = await reader.tuples(
    sql`SELECT d.endpoint, ${status} FROM ${from} WHERE ${reader.names.instance.conditionOf('d')} AND d.event = ${event}`,
  );
  // The statement makes nothing else.
  return new Map(rows.map(([endpoint, is]) => [Number(endpoint), { status: String(is) as DeliveryStatus }]));
}

/** Reads the deliveries of events, by their positions, to endpoints that the caller reaches: with their attempts and without the responses. */
export async function readDeliveriesOf(
  reader: Reader,
  events: readonly number[],
  caller: Caller,
): Promise<ReadonlyMap<number, readonly DeliveryView[]>> {
  const { names } = reader;
  const { from, columns } = partsOf(names);
  const reached = isReached(names, sql`d.endpoint`, caller);
  const where = sql`${names.instance.conditionOf('d')} AND d.event${names.anyNumberOf(events)}`;
  const rows = await reader.tuples(
    sql`SELECT ${columns} FROM ${from} WHERE ${reached === undefined ? where : sql`${where} AND ${reached}`} ORDER BY d.event, d.endpoint`,
  );
  const attempts = await readAttempts(reader, rows.map(toKey), false);
  const byEvent = Map.groupBy(rows, (row) => toKey(row).event);
  return new Map(
    [...byEvent].map(([event, its]) => [
      event,
      its.map((row) => toView(row, attempts.get(keyText(toKey(row))) ?? [])),
    ]),
  );
}

/**
 * Makes a delivery due now, whatever its schedule; one that is over gets one more attempt. Returns its new state,
 * which may have changed by the time the response is sent. `note` runs in the same transaction. Throws not_found, and conflict when its endpoint or the body of its event is gone, or when it is a test
 * whose attempt may be on its way.
 */
export async function retryDelivery(
  instance: WebhookInstance,
  id: string,
  note?: (tx: Transaction) => Promise<void>,
): Promise<DeliveryView> {
  // Not `clock`: the node that sends it uses this clock.
  const now = instance.dueClock.now();
  const key = await findDelivery(instance.database, id);
  return instance.database.write(async (tx) => {
    const from = await readRetryable(tx, key);
    await move(tx, key, { from, to: 'pending', cause: '', now });
    await note?.(tx);
    return readDelivery(tx, key);
  });
}

/** Cancels a pending delivery and returns it. `note` runs in the same transaction. Throws not_found, and conflict when it is over already. */
export async function cancelDelivery(
  instance: WebhookInstance,
  id: string,
  note?: (tx: Transaction) => Promise<void>,
): Promise<DeliveryView> {
  const now = instance.dueClock.now();
  const key = await findDelivery(instance.database, id);
  return instance.database.write(async (tx) => {
    await move(tx, key, { from: ['pending'], to: 'cancelled', cause: 'Cancelled by hand.', now });
    await note?.(tx);
    return readDelivery(tx, key);
  });
}

/**
 * Returns the statuses from which a delivery may be sent again. Throws conflict when its endpoint is gone, as it would be pending
 * forever. A pending test is not among them: the process that handles the request sends it, and the instance's owner would send it as
 * well.
 */
async function readRetryable(tx: Transaction, key: DeliveryKey): Promise<readonly DeliveryStatus[]> {
  const [row] = await tx.tuples(sql`
    SELECT e.kind, o.attempts, p.deleted, e.expunged FROM ${partsOf(tx.names).from}
    WHERE ${tx.names.instance.conditionOf('d')} AND d.event = ${key.event} AND d.endpoint = ${key.endpoint}`);
  if (row === undefined) return [];
  const [kind, attempts, deleted, expunged] = row;
  if (deleted !== '') throw new AppError('conflict', 'The endpoint of the delivery was deleted.');
  if (expunged !== null)
    throw new AppError('conflict', 'The body of its event was expunged: nothing is left to send.');
  if (!isTest(String(kind))) return ['pending', ...over];
  // A test that was cancelled while on its way: only its counted attempt shows that it is over.
  return Number(attempts) === 0 ? [] : over;
}

const over = deliveryStatuses.filter((status) => status !== 'pending');

async function move(
  tx: Transaction,
  key: DeliveryKey,
  to: Omit<Parameters<typeof moveDelivery>[2], 'without' | 'record'>,
): Promise<void> {
  const { names } = tx;
  const { from, status } = partsOf(names);
  const [row] = await tx.tuples(
    sql`SELECT ${status}, ${recordKey(sql`e`)} FROM ${from} WHERE ${names.instance.conditionOf('d')} AND d.event = ${key.event} AND d.endpoint = ${key.endpoint}`,
  );
  if (row === undefined) throw notFound();
  const without = String(row[0]) as DeliveryStatus; // The statement makes nothing else.
  if (await moveDelivery(tx, key, { ...to, without, record: String(row[1]) })) return;
  throw new AppError('conflict', `The delivery is ${without}.`);
}

async function readAttempts(
  reader: Reader,
  keys: readonly DeliveryKey[],
  withAnswers: boolean,
): Promise<ReadonlyMap<string, readonly AttemptView[]>> {
  const attempts = new Map<string, AttemptView[]>();
  if (keys.length === 0) return attempts;
  const { names } = reader;
  const events = names.anyNumberOf([...new Set(keys.map(({ event }) => event))]);
  const rows = await reader.all(
    sql`SELECT * FROM ${names.table('$attempt')} WHERE ${names.instance.condition} AND event${events} ORDER BY event, endpoint, number`,
  );
  for (const row of rows) {
    const key = keyText({ event: Number(row['event']), endpoint: Number(row['endpoint']) });
    const ofDelivery = attempts.get(key);
    if (ofDelivery === undefined) attempts.set(key, [attemptView(row, withAnswers)]);
    else ofDelivery.push(attemptView(row, withAnswers));
  }
  return attempts;
}

function attemptView(row: Row, withAnswers: boolean): AttemptView {
  const view = {
    number: row['number'],
    started: row['started'],
    kind: row['kind'],
    status: row['status'],
    cause: row['cause'],
    dnsMs: row['dns_ms'],
    connectMs: row['connect_ms'],
    tlsMs: row['tls_ms'],
    firstByteMs: row['first_byte_ms'],
    totalMs: row['total_ms'],
    batch: row['batch'] === null ? null : { id: row['batch'], size: Number(row['batch_size']) },
  };
  if (!withAnswers) return view;
  const body = row['response_body'];
  const responseHeaders: unknown = JSON.parse(String(row['response_headers']));
  // Invalid UTF-8 is shown with replacement characters: the body is for reading, not for parsing.
  const responseBody = body instanceof Uint8Array ? Buffer.from(body).toString('utf8') : '';
  return { ...view, responseHeaders, responseBody };
}

function toKey(tuple: Tuple): DeliveryKey {
  return { event: Number(tuple[0]), endpoint: Number(tuple[1]) };
}

function toView(tuple: Tuple, attempts: readonly AttemptView[]): DeliveryView {
  const [, , endpoint, event, kind, collection, record, status, cause, due, created, updated, attemptCount] =
    tuple;
  return {
    id: deliveryId(String(event), String(endpoint)),
    endpoint: String(endpoint),
    event: String(event),
    kind: String(kind),
    collection: String(collection),
    record: String(record),
    status: String(status),
    cause: String(cause),
    nextAttempt: status === 'pending' ? nextAttemptOf(due, created) : '',
    created: String(created),
    updated: String(updated),
    // Attempts are read a moment later than the delivery: newer ones do not fit the status shown here.
    attempts: attempts.filter(({ number }) => Number(number) <= Number(attemptCount)),
  };
}

/** One that was never attempted is due since its creation. */
function nextAttemptOf(due: unknown, created: unknown): string {
  return due === null || due === undefined ? String(created) : toTimestamp(Number(due));
}
