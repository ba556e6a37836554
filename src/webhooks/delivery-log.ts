import { AppError, conflicting, notFound } from '../base/errors.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { Operand } from '../filters/operand.ts';
import type { ListQuery } from '../query/list-query.ts';
import { column, columnResolver } from '../query/list-source.ts';
import { type ListResult, runList } from '../query/run-list.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Database, Names, Reader, Row, Transaction, Tuple } from '../storage/database.ts';
import { deliveryId, insertDelivery, moveDelivery, readPending } from './deliveries.ts';
import { type DeliveryStatus, newDelivery } from './delivery.ts';
import type { Dispatcher } from './dispatcher.ts';
import { getEndpoint } from './endpoints/change-endpoint.ts';
import type { Endpoint } from './endpoints/endpoint.ts';
import type { WebhookInstance, WebhookInstanceLoan } from './webhook-instance.ts';

/** A delivery with its event and its attempts, as its owner sees it. */
interface DeliveryView {
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

const columns = sql`d.id, d.endpoint, e.id, e.kind, e.collection_name, e.record, d.status, d.cause, d.due, d.created, d.updated, d.attempts`;

function fromOf(names: Names): Sql {
  const events = sql`${names.table('$event')} e ON ${names.scopeOf('e')} AND e.position = d.event`;
  return sql`${names.table('$delivery')} d JOIN ${events}`;
}

const id: Operand = column('text', sql`d.id`);

const resolve = columnResolver({
  id,
  endpoint: column('text', sql`d.endpoint`),
  event: column('text', sql`e.id`),
  kind: column('text', sql`e.kind`),
  collection: column('text', sql`e.collection_name`),
  record: column('text', sql`e.record`),
  status: column('text', sql`d.status`),
  cause: column('text', sql`d.cause`),
  created: column('date', sql`d.created`),
  updated: column('date', sql`d.updated`),
});

/** Returns a page of deliveries, each with its attempts; only {@link readDelivery} shows what receivers answered. */
export async function listDeliveries(
  instance: WebhookInstance,
  query: ListQuery,
): Promise<ListResult<DeliveryView>> {
  const now = instance.clock.now();
  const { names } = instance.database;
  const isInTime = names.isInTime(sql`d.event`, 'for every row');
  const source = {
    columns,
    from: fromOf(names),
    where: names.scopeOf('d'),
    ...(isInTime && { isInTime }),
    tieBreaker: id,
    resolve,
    dialect: names.dialect,
    now,
  };
  const page = await runList(instance.database, query, source);
  const ids = page.items.map((item) => String(item[0]));
  const attempts = await readAttempts(instance.database, ids, false);
  return { ...page, items: page.items.map((item) => toView(item, attempts.get(String(item[0])) ?? [])) };
}

/** Reads one delivery with all that its attempts have recorded. Throws not_found. */
export async function readDelivery(reader: Reader, deliveryId: string): Promise<DeliveryView> {
  const { names } = reader;
  const [row] = await reader.tuples(
    sql`SELECT ${columns} FROM ${fromOf(names)} WHERE ${names.scopeOf('d')} AND d.id = ${deliveryId}`,
  );
  if (row === undefined) throw notFound();
  const attempts = await readAttempts(reader, [deliveryId], true);
  return toView(row, attempts.get(deliveryId) ?? []);
}

/**
 * Makes a delivery due now, whatever its schedule said; one that is over gets one more attempt. Returns it as this has left it,
 * which may have changed by the time the answer is sent. Throws not_found, and conflict when the delivery could
 * never be sent or is a test whose attempt may be on its way.
 */
export function retryDelivery(instance: WebhookInstance, deliveryId: string): Promise<DeliveryView> {
  // Not `clock`: the node that sends it decides by this clock what is due.
  const now = instance.dueClock.now();
  return instance.database.write(async (tx) => {
    const from = await readRetryable(tx, deliveryId);
    await move(tx, deliveryId, { from, to: 'pending', cause: '', now });
    return readDelivery(tx, deliveryId);
  });
}

/** Cancels a pending delivery and returns it. Throws not_found, and conflict when it is over already. */
export function cancelDelivery(instance: WebhookInstance, deliveryId: string): Promise<DeliveryView> {
  const now = instance.dueClock.now();
  return instance.database.write(async (tx) => {
    await move(tx, deliveryId, { from: ['pending'], to: 'cancelled', cause: 'Cancelled by hand.', now });
    return readDelivery(tx, deliveryId);
  });
}

/**
 * Returns the statuses from which a delivery may be sent again. Throws conflict when its endpoint is gone, as it would be pending
 * forever, and when its body is too large to be sent. A pending test is not among them: the process that was asked for the test
 * sends it, and the instance's owner would send it as well.
 */
async function readRetryable(tx: Transaction, deliveryId: string): Promise<readonly DeliveryStatus[]> {
  const row = await tx.get(sql`
    SELECT length(e.body) AS body_bytes, e.kind, d.attempts, p.id AS endpoint FROM ${fromOf(tx.names)}
    LEFT JOIN ${tx.names.table('$endpoint')} p ON ${tx.names.scopeOf('p')} AND p.id = d.endpoint
    WHERE ${tx.names.scopeOf('d')} AND d.id = ${deliveryId}`);
  if (row === undefined) return [];
  if (row['endpoint'] === null) throw new AppError('conflict', 'The endpoint of the delivery was deleted.');
  const { status, cause } = newDelivery(0, Number(row['body_bytes']));
  if (status === 'exhausted') throw new AppError('conflict', cause);
  if (row['kind'] !== 'ping') return ['pending', ...over];
  // A test that was cancelled while on its way: only its counted attempt shows that it is over.
  return Number(row['attempts']) === 0 ? [] : over;
}

const over = ['delivered', 'exhausted', 'expired', 'cancelled'] as const;

async function move(
  tx: Transaction,
  deliveryId: string,
  to: Parameters<typeof moveDelivery>[2],
): Promise<void> {
  if (await moveDelivery(tx, deliveryId, to)) return;
  const row = await tx.get(sql`
    SELECT status FROM ${tx.names.table('$delivery')} WHERE ${tx.names.scope} AND id = ${deliveryId}`);
  if (row === undefined) throw notFound();
  throw new AppError('conflict', `The delivery is ${String(row['status'])}.`);
}

async function readAttempts(
  reader: Reader,
  ids: readonly string[],
  withAnswers: boolean,
): Promise<ReadonlyMap<string, readonly AttemptView[]>> {
  const attempts = new Map<string, AttemptView[]>();
  if (ids.length === 0) return attempts;
  const list = joinSql(
    ids.map((deliveryId) => sql`${deliveryId}`),
    ', ',
  );
  const rows = await reader.all(
    sql`SELECT * FROM ${reader.names.table('$attempt')} WHERE ${reader.names.scope} AND delivery IN (${list}) ORDER BY delivery, number`,
  );
  for (const row of rows) {
    const deliveryId = String(row['delivery']);
    const known = attempts.get(deliveryId);
    if (known === undefined) attempts.set(deliveryId, [attemptView(row, withAnswers)]);
    else known.push(attemptView(row, withAnswers));
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
  };
  if (!withAnswers) return view;
  const body = row['response_body'];
  const responseHeaders: unknown = JSON.parse(String(row['response_headers']));
  // Invalid UTF-8 is shown with replacement characters: the body is for reading, not for parsing.
  const responseBody = body instanceof Uint8Array ? Buffer.from(body).toString('utf8') : '';
  return { ...view, responseHeaders, responseBody };
}

function toView(tuple: Tuple, attempts: readonly AttemptView[]): DeliveryView {
  const [deliveryId, endpoint, event, kind, collection, record, status, cause, due, created, updated, made] =
    tuple;
  return {
    id: String(deliveryId),
    endpoint: String(endpoint),
    event: String(event),
    kind: String(kind),
    collection: String(collection),
    record: String(record),
    status: String(status),
    cause: String(cause),
    nextAttempt: status === 'pending' ? toTimestamp(Number(due)) : '',
    created: String(created),
    updated: String(updated),
    // Attempts are read a moment later than the delivery: newer ones do not fit the status shown here.
    attempts: attempts.filter(({ number }) => Number(number) <= Number(made)),
  };
}

/** For this long a test is its sender's alone. If that process dies, the dispatcher then finds the delivery due and ends it. */
const handoverMs = 120_000;

/** Tests of one instance under way at once. They bypass the lanes, so nothing else limits how many a receiver gets. */
const testsMax = 8;
const testsUnderWay = new WeakMap<Database, number>();

export interface TestParts {
  readonly dispatcher: Dispatcher;
  readonly borrow: (instanceId: string) => Promise<WebhookInstanceLoan>;
}

/**
 * Sends the test event `ping` to one endpoint, paused or not, and returns the delivery with its attempt. The event is logged like
 * any other, and the request is never repeated. Throws not_found, and too_many_requests while `testsMax` others are under way.
 */
export async function testEndpoint(
  instance: WebhookInstance,
  endpointId: string,
  parts: TestParts,
): Promise<DeliveryView> {
  const { database } = instance;
  const underWay = testsUnderWay.get(database) ?? 0;
  if (underWay >= testsMax) {
    const message = `At most ${testsMax} tests of endpoints can be under way.`;
    throw new AppError('too_many_requests', message, { retryAfter: 1 });
  }
  testsUnderWay.set(database, underWay + 1);
  try {
    return await sendTest(instance, endpointId, parts);
  } finally {
    testsUnderWay.set(database, (testsUnderWay.get(database) ?? 1) - 1);
  }
}

async function sendTest(
  instance: WebhookInstance,
  endpointId: string,
  parts: TestParts,
): Promise<DeliveryView> {
  const { endpoint, id } = await insertTest(instance, endpointId);
  const pending = await readPending(instance.database, id);
  if (pending === undefined) throw conflicting();
  await parts.dispatcher.sendNow(await parts.borrow(instance.id), endpoint, pending);
  return readDelivery(instance.database, id);
}

function insertTest(
  instance: WebhookInstance,
  endpointId: string,
): Promise<{ readonly endpoint: Endpoint; readonly id: string }> {
  return instance.database.write(async (tx) => {
    const endpoint = await getEndpoint(tx, instance.endpoints, endpointId);
    return { endpoint, id: await writeTest(tx, instance, endpoint.id) };
  });
}

/** Writes the test event and its one delivery, and returns the id of that delivery. */
export async function writeTest(
  tx: Transaction,
  { clock, dueClock, events }: Pick<WebhookInstance, 'clock' | 'dueClock' | 'events'>,
  endpointId: string,
): Promise<string> {
  const created = toTimestamp(clock.now());
  const event = await events.append(tx, {
    kind: 'ping',
    collection: '',
    collectionName: '',
    record: '',
    revision: 0,
    created,
    dataJson: '{}',
  });
  const due = dueClock.now() + handoverMs;
  const state = { status: 'pending', attempts: 0, due, cause: '' } as const;
  await tx.run(insertDelivery(tx.names, event, { endpoint: endpointId, state }));
  return deliveryId(event.id, endpointId);
}
