import { sql, type Sql } from '../sql/sql.ts';
import type { InlineColumn, Names, Transaction } from '../storage/database.ts';
import type { WebhookInstance } from '../endpoints/webhook-instance.ts';

/**
 * Deliveries that wait for earlier events of their record, for endpoints with the order `record`, and those that a later event supersedes,
 * for endpoints that coalesce. Both are decided by the rows when it is their turn, so nothing about them has to survive a
 * process. One that waits has an outcome without a due time, so that the cursor advances; the settlement of the delivery before it releases it.
 */

/** A key of an event's record, unique in the instance. `event` is the alias of its row. */
export function recordKey(event: Sql): Sql {
  return sql`${event}.collection || '/' || ${event}.record`;
}

/** Returns the id of the collection and of the record of a {@link recordKey}. */
export function splitRecordKey(key: string): readonly [collection: string, record: string] {
  const at = key.indexOf('/');
  return [key.slice(0, at), key.slice(at + 1)];
}

/** A delivery of another event `b` of the record of `e` to the endpoint of `d`, with its outcome `x`, if there is one. */
function ofSameRecord(names: Names): Sql {
  const delivery = sql`${names.table('$delivery')} c ON ${names.instance.conditionOf('c')} AND c.event = b.position AND c.endpoint = d.endpoint`;
  const outcome = sql`${names.table('$outcome')} x ON ${names.instance.conditionOf('x')} AND x.event = b.position AND x.endpoint = d.endpoint`;
  return sql`SELECT 1 FROM ${names.table('$event')} b JOIN ${delivery} LEFT JOIN ${outcome}
    WHERE ${names.instance.conditionOf('b')} AND b.record = e.record AND b.collection = e.collection`;
}

/** An earlier one waits in the log, or is on its way for the first time. */
function isBehindFirst(names: Names): Sql {
  const cursor = sql`(SELECT l.cursor FROM ${names.table('$lane')} l WHERE ${names.instance.conditionOf('l')} AND l.endpoint = d.endpoint)`;
  return sql`EXISTS (${ofSameRecord(names)} AND b.position < e.position AND b.position > ${cursor} AND x.event IS NULL)`;
}

/** Whether the delivery `d` of the event `e` must wait. */
export function isHeld(names: Names): Sql {
  const pending = sql`SELECT 1 FROM ${names.table('$outcome')} w WHERE ${names.instance.conditionOf('w')} AND w.endpoint = d.endpoint
    AND w.record = ${recordKey(sql`e`)} AND w.status = 'pending' AND w.event < d.event`;
  return sql`(EXISTS (${pending}) OR ${isBehindFirst(names)})`;
}

/** Whether a later event of the record was sent, or is still pending: an older state would overwrite the newer one. */
export function isSuperseded(names: Names): Sql {
  // Events about endpoints never supersede each other.
  return sql`EXISTS (${ofSameRecord(names)} AND e.collection <> '' AND b.position > e.position AND (x.event IS NULL OR x.status IN ('pending', 'delivered')))`;
}

export interface RecordOfEndpoint {
  readonly endpoint: number;
  /** See {@link recordKey}. */
  readonly record: string;
}

const columns: readonly InlineColumn[] = [
  ['endpoint', 'number'],
  ['record', 'text'],
];

/** Makes the first delivery due that waits for each of these records, unless it still has to wait. */
export async function releaseNext(
  tx: Transaction,
  records: readonly RecordOfEndpoint[],
  now: number,
): Promise<void> {
  if (records.length === 0) return;
  const { names } = tx;
  const outcome = names.table('$outcome');
  const rows = records.map(({ endpoint, record }) => [endpoint, record]);
  const values = names.valuesTable(columns, rows);
  const event = sql`${names.table('$event')} e ON ${names.instance.conditionOf('e')} AND e.position = d.event`;
  await tx.run(sql`
    UPDATE ${outcome} SET due = ${now} WHERE ${names.instance.condition} AND status = 'pending' AND due IS NULL AND (event, endpoint) IN (
      SELECT d.event, d.endpoint FROM (
        SELECT min(w.event) AS event, w.endpoint FROM ${values}
        JOIN ${outcome} w ON ${names.instance.conditionOf('w')} AND w.endpoint = CAST(given.endpoint AS bigint) AND w.record = given.record AND w.status = 'pending'
        GROUP BY w.endpoint, w.record) AS d
      JOIN ${event} WHERE NOT ${isBehindFirst(names)})`);
}

/**
 * Makes deliveries due that no longer wait for anything: what they waited for was cancelled or trimmed by a concurrent transaction that did not
 * see them. Where transactions run one after the other, there are none. Returns whether there were any.
 */
export async function releaseStrays({
  database,
  dueClock,
}: Pick<WebhookInstance, 'database' | 'dueClock'>): Promise<boolean> {
  if (!database.names.isConcurrent) return false;
  return (await database.write((tx) => releaseStray(tx, dueClock.now()))) > 0;
}

/** Makes deliveries due that wait for nothing, as what they waited for was trimmed. Returns how many. */
export function releaseStray(tx: Transaction, now: number): Promise<number> {
  const { names } = tx;
  const outcome = names.table('$outcome');
  const event = sql`${names.table('$event')} e ON ${names.instance.conditionOf('e')} AND e.position = d.event`;
  return tx.run(sql`
    UPDATE ${outcome} SET due = ${now} WHERE ${names.instance.condition} AND status = 'pending' AND due IS NULL AND (event, endpoint) IN (
      SELECT d.event, d.endpoint FROM ${outcome} d JOIN ${event}
      WHERE ${names.instance.conditionOf('d')} AND d.status = 'pending' AND d.due IS NULL AND NOT ${isHeld(names)})`);
}
