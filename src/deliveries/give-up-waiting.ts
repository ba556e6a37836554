import { toTimestamp } from '../base/timestamp.ts';
import { noteTrimmed, type TrimPoint } from '../events/trimmed.ts';
import { foundByKeys, limit, sql } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';
import { releaseStray } from './record-order.ts';
import type { WebhookInstance } from '../endpoints/webhook-instance.ts';

const expiredCause = 'It was still waiting when the log was trimmed.';

/** Rows of the log that one statement reads. */
const walkMax = 65_536;

/**
 * Expires deliveries of an instance that are still pending, for paused endpoints too, in the part of the log that is about to be dropped.
 * Returns how many. A second call finds none.
 */
export async function giveUpWaiting(
  { database, dueClock }: Pick<WebhookInstance, 'database' | 'dueClock'>,
  trimmed: TrimPoint,
): Promise<number> {
  // Not in the transaction, which would be open for all of that time.
  const expired = await countWaitingUpTo(database, trimmed.position);
  const now = dueClock.now();
  await database.write((tx) => expireUpTo(tx, trimmed, now), { findsByKey: true });
  return expired;
}

async function countWaitingUpTo(reader: Reader, last: number): Promise<number> {
  const { names } = reader;
  let waiting = 0;
  let [event, endpoint]: readonly [number, number] = [0, 0];
  for (;;) {
    const outcome = sql`${names.table('$outcome')} o ON ${names.instance.conditionOf('o')} AND o.event = w.event AND o.endpoint = w.endpoint
        AND o.event BETWEEN ${event} AND ${last}`;
    const next = sql`
      WITH walked AS MATERIALIZED (
        SELECT event, endpoint FROM ${names.table('$delivery')}
        WHERE ${names.instance.condition} AND event BETWEEN ${event} AND ${last} AND (event, endpoint) > (${event}, ${endpoint})
        ORDER BY event, endpoint${limit(walkMax)})
      SELECT event, endpoint, (
        SELECT count(*) FROM walked w JOIN ${names.table('$lane')} l ON ${names.instance.conditionOf('l')} AND l.endpoint = w.endpoint LEFT JOIN ${outcome}
        WHERE o.status = 'pending' OR (o.event IS NULL AND w.event > l.cursor))
      FROM walked ORDER BY event DESC, endpoint DESC LIMIT 1`;
    const [row] = await reader.tuples(foundByKeys(next));
    if (row === undefined) return waiting;
    [event, endpoint] = [Number(row[0]), Number(row[1])];
    waiting += Number(row[2]);
  }
}

async function expireUpTo(tx: Transaction, trimmed: TrimPoint, now: number): Promise<void> {
  const { names } = tx;
  const { position: last } = trimmed;
  const updated = toTimestamp(now);
  const lane = sql`${names.table('$lane')} WHERE ${names.instance.condition}`;
  await tx.run(sql`
    INSERT INTO ${names.table('$gap')} (${names.instance.column}endpoint, first, last, status, cause, created)
    SELECT ${names.instance.value}endpoint, cursor + 1, CAST(${last} AS bigint), 'expired', ${expiredCause}, ${updated}
    FROM ${lane} AND cursor < ${last}
    ON CONFLICT (${names.instance.column}endpoint, first) DO NOTHING`);
  const changed = await tx.run(sql`
    UPDATE ${names.table('$outcome')} SET status = 'expired', due = NULL, cause = ${expiredCause}, updated = ${updated}
    WHERE ${names.instance.condition} AND event <= ${last} AND status = 'pending' AND endpoint IN (SELECT endpoint FROM ${lane})`);
  await tx.run(sql`
    UPDATE ${names.table('$lane')} SET cursor = ${last} WHERE ${names.instance.condition} AND cursor < ${last}`);
  await noteTrimmed(tx, trimmed);
  if (changed > 0) await releaseStray(tx, now);
}
