import { toTimestamp } from '../base/timestamp.ts';
import { noteTrimmed, type TrimPoint } from '../events/trimmed.ts';
import { foundByKeys, limit, sql } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';
import { addToDays, expiredOf } from './endpoint-days.ts';
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
  const waiting = await countWaitingUpTo(database, trimmed.position);
  const now = dueClock.now();
  const expired = [...waiting].map(([endpoint, count]) => expiredOf(endpoint, count));
  await database.write(
    async (tx) => {
      await expireUpTo(tx, trimmed, now);
      await addToDays(tx, expired, now);
    },
    { findsByKey: true },
  );
  return expired.reduce((sum, { count }) => sum + count, 0);
}

/** Returns how many deliveries wait by the numbers of their endpoints. */
async function countWaitingUpTo(reader: Reader, last: number): Promise<ReadonlyMap<number, number>> {
  const { names } = reader;
  const waiting = new Map<number, number>();
  let [event, endpoint]: readonly [number, number] = [0, 0];
  for (;;) {
    const outcome = sql`${names.table('$outcome')} o ON ${names.instance.conditionOf('o')} AND o.event = w.event AND o.endpoint = w.endpoint
        AND o.event BETWEEN ${event} AND ${last}`;
    const next = sql`
      WITH walked AS MATERIALIZED (
        SELECT event, endpoint FROM ${names.table('$delivery')}
        WHERE ${names.instance.condition} AND event BETWEEN ${event} AND ${last} AND (event, endpoint) > (${event}, ${endpoint})
        ORDER BY event, endpoint${limit(walkMax)})
      SELECT * FROM (SELECT event, endpoint, 0 AS waiting FROM walked ORDER BY event DESC, endpoint DESC LIMIT 1) AS last_row
      UNION ALL SELECT 0, w.endpoint, count(*) FROM walked w
        JOIN ${names.table('$lane')} l ON ${names.instance.conditionOf('l')} AND l.endpoint = w.endpoint LEFT JOIN ${outcome}
        WHERE o.status = 'pending' OR (o.event IS NULL AND w.event > l.cursor) GROUP BY w.endpoint`;
    const rows = await reader.tuples(foundByKeys(next));
    if (rows.length === 0) return waiting;
    for (const [at, of, count] of rows)
      // The one with an event is the last that was walked.
      if (Number(at) > 0) [event, endpoint] = [Number(at), Number(of)];
      else waiting.set(Number(of), (waiting.get(Number(of)) ?? 0) + Number(count));
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
