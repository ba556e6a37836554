import { notFound } from '../../base/errors.ts';
import { type Timestamp, toTimestamp } from '../../base/timestamp.ts';
import { kindOfBody } from '../../events/event.ts';
import { findEvent } from '../../events/find-event.ts';
import { sql } from '../../sql/sql.ts';
import type { Transaction } from '../../storage/database.ts';
import { readBody, thinBody } from '../deliveries.ts';
import { expungedCause } from '../delivery.ts';
import { outcomeColumns } from '../delivery-outcomes.ts';
import { noteStale } from '../../endpoints/held-records.ts';
import { markReconcile } from '../reconcile-marks.ts';
import { recordKey, releaseNext } from '../record-order.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';

export interface ExpungedRecord {
  readonly id: string;
  /** The id of its collection; empty for a test. */
  readonly collection: string;
}

/**
 * Removes the body of an event, and everything else that the log has of its record: hidden values, previous values, and the responses of
 * receivers, which may repeat a body. The event stays: its body becomes the thin one, with the id alone, so that
 * every cursor stays valid. Its pending deliveries are cancelled by the same write. An expunged event is left as it is.
 * Throws not_found.
 */
export async function expungeEvent(
  { database, dueClock, shownId }: Pick<WebhookInstance, 'database' | 'dueClock' | 'shownId'>,
  id: string,
  onExpunge: (tx: Transaction, expunged: ExpungedRecord) => Promise<void>,
): Promise<void> {
  const position = await findEvent(database, id);
  if (position === undefined) throw notFound();
  const expunge = async (tx: Transaction): Promise<void> => {
    const { names } = tx;
    const [row] = await tx.tuples(sql`
      SELECT kind, collection, collection_name, record, created, expunged FROM ${names.table('$event')}
      WHERE ${names.instance.condition} AND position = ${position}${names.locks.forUpdate}`);
    if (row === undefined) throw notFound();
    const [kind, collection, collectionName, record, created, expunged] = row.map((value) =>
      value === null ? undefined : String(value),
    );
    if (expunged !== undefined) return;
    const eventKind = kind === 'test' ? kindOfBody(await readBody(tx, position)) : kind;
    const about = { kind: eventKind ?? '', collectionName: collectionName ?? '', record: record ?? '' };
    const body = thinBody({ ...about, created: created ?? '' }, shownId);
    const now = dueClock.now();
    await tx.run(sql`
      UPDATE ${names.table('$event')} SET body = ${body}, hidden = NULL, context = NULL, expunged = ${toTimestamp(now)}
      WHERE ${names.instance.condition} AND position = ${position}`);
    await cancelAll(tx, { position, now, updated: toTimestamp(now) });
    await tx.run(sql`
      UPDATE ${names.table('$attempt')} SET response_headers = '{}', response_body = ${nothing}
      WHERE ${names.instance.condition} AND event = ${position}`);
    // Endpoints may lack the state that is not sent any more, whose owners' decisions skip it as well.
    await noteStale(tx, { collection: collection ?? '', record: record ?? '' });
    await markReconcile(tx, { now });
    await onExpunge(tx, { id, collection: collection ?? '' });
  };
  await database.write(expunge, { findsByKey: true });
}

const nothing = new Uint8Array();

interface Cancelling {
  readonly position: number;
  readonly now: number;
  readonly updated: Timestamp;
}

/** Cancels the pending deliveries of an event. An open attempt finds its delivery cancelled when it ends, and is counted. */
async function cancelAll(tx: Transaction, { position, now, updated }: Cancelling): Promise<void> {
  const { names } = tx;
  const outcome = names.table('$outcome');
  const of = sql`${names.table('$delivery')} d JOIN ${names.table('$event')} e ON ${names.instance.conditionOf('e')} AND e.position = d.event`;
  const isOver = sql`EXISTS (SELECT 1 FROM ${names.table('$gap')} g
    WHERE ${names.instance.conditionOf('g')} AND g.endpoint = d.endpoint AND g.first <= d.event AND g.last >= d.event)`;
  await tx.run(sql`
    INSERT INTO ${outcome} AS existing (${names.instance.column}${outcomeColumns})
    SELECT ${names.instance.value}d.event, d.endpoint, 'cancelled', 0, CAST(${now} AS bigint), 0, ${recordKey(sql`e`)}, ${expungedCause},
      CAST(NULL AS bigint), ${updated}
    FROM ${of} LEFT JOIN ${outcome} o ON ${names.instance.conditionOf('o')} AND o.event = d.event AND o.endpoint = d.endpoint
    WHERE ${names.instance.conditionOf('d')} AND d.event = ${position} AND (o.status = 'pending' OR (o.event IS NULL AND NOT ${isOver}))
    ON CONFLICT (${names.instance.column}event, endpoint) DO UPDATE SET status = 'cancelled', cause = excluded.cause, updated = excluded.updated
    WHERE existing.status = 'pending'`);
  const rows = await tx.tuples(
    sql`SELECT d.endpoint, ${recordKey(sql`e`)} FROM ${of} WHERE ${names.instance.conditionOf('d')} AND d.event = ${position}`,
  );
  // Later deliveries of its record no longer wait for it.
  const records = rows.map(([endpoint, record]) => ({ endpoint: Number(endpoint), record: String(record) }));
  await releaseNext(tx, records, now);
}
