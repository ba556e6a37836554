import { AppError, notFound } from '../base/errors.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { Operand } from '../filters/operand.ts';
import { dialectOf } from '../filters/dialect-of.ts';
import type { Instance } from '../instances/instance.ts';
import { columnResolver } from '../lists/column-resolver.ts';
import { column } from '../lists/column.ts';
import type { ListQuery } from '../lists/list-query.ts';
import { runList, type ListResult } from '../lists/run-list.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Names, Reader, Row, Transaction, Tuple } from '../storage/database.ts';
import { moveDelivery } from './deliveries.ts';
import { newDelivery, type DeliveryStatus } from './delivery.ts';

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

/** A page of deliveries, each with its attempts; what receivers answered is shown by {@link readDelivery} only. */
export async function listDeliveries(
  instance: Instance,
  query: ListQuery,
): Promise<ListResult<DeliveryView>> {
  const now = instance.clock.now();
  const { names } = instance.database;
  const source = {
    columns,
    from: fromOf(names),
    where: names.scopeOf('d'),
    tieBreaker: id,
    resolve,
    dialect: dialectOf(names.engine),
    now,
  };
  const page = await runList(instance.database, query, source);
  const ids = page.items.map((item) => String(item[0]));
  const attempts = await readAttempts(instance.database, ids, false);
  return { ...page, items: page.items.map((item) => toView(item, attempts.get(String(item[0])) ?? [])) };
}

/** One delivery with everything that its attempts left. Throws not_found. */
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
 * Makes a delivery due now, whatever its schedule said; one that is over gets one more attempt. Answers it as that left it: by the
 * time the answer is there, the attempt may be over. Throws not_found; conflict when it could never be sent, and for a test that
 * may be on its way.
 */
export function retryDelivery(instance: Instance, deliveryId: string): Promise<DeliveryView> {
  // By which the node that sends it looks for what is due.
  const now = instance.dueClock.now();
  return instance.database.write(async (tx) => {
    const from = await readRetryable(tx, deliveryId);
    await move(tx, deliveryId, { from, to: 'pending', cause: '', now });
    return readDelivery(tx, deliveryId);
  });
}

/** Ends a pending delivery, and answers it. Throws not_found; conflict when it is over already. */
export function cancelDelivery(instance: Instance, deliveryId: string): Promise<DeliveryView> {
  const now = instance.dueClock.now();
  return instance.database.write(async (tx) => {
    await move(tx, deliveryId, { from: ['pending'], to: 'cancelled', cause: 'Cancelled by hand.', now });
    return readDelivery(tx, deliveryId);
  });
}

/**
 * From which statuses it may be sent again; refused without its endpoint, as it would be pending forever, and with a body that
 * is too large, as it stays so. A test that is pending is sent by whoever asked for it, whichever node owns the instance: another
 * one would send it as well.
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
  // Cancelled on its way: only its one attempt says when that is over.
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
  // What is no UTF-8 is shown with replacement characters: it is for reading, not for parsing.
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
    // Read a moment later than the rest: what was made since then belongs to the next look.
    attempts: attempts.filter(({ number }) => Number(number) <= Number(made)),
  };
}
