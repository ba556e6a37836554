import type { Timestamp } from '../base/timestamp.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';
import { skipUndecided } from './decision-cursor.ts';
import { deletedCause } from './delivery-outcomes.ts';

/**
 * Ranges of the log that a lane has passed over. A delivery in one that has no outcome has the status of the gap: so it costs one row to
 * end any number of deliveries.
 */

/** The end of a gap that has none. */
const forever = sql`9007199254740991`;

/** Ends the backlog of an endpoint that is being deleted, and its lane. To be called while nothing else is written. */
export async function endLane(tx: Transaction, endpoint: number, now: Timestamp): Promise<void> {
  const { names } = tx;
  await insertGapBehind(tx, { endpoint, last: forever, cause: deletedCause, now });
  await tx.run(
    sql`DELETE FROM ${names.table('$lane')} WHERE ${names.instance.condition} AND endpoint = ${endpoint}`,
  );
  await tx.run(sql`
    UPDATE ${names.table('$replay')} SET state = 'cancelled', updated = ${now}
    WHERE ${names.instance.condition} AND endpoint = ${endpoint} AND state = 'running'`);
}

export const skippedCause = 'Skipped when the endpoint was resumed.';

/** Cancels the backlog of an endpoint, except failed deliveries. To be called while nothing else is written. */
export async function skipWaiting(tx: Transaction, endpoint: number, now: Timestamp): Promise<void> {
  const { names } = tx;
  const end = sql`(SELECT coalesce(max(position), 0) FROM ${names.table('$event')} WHERE ${names.instance.condition})`;
  await insertGapBehind(tx, { endpoint, last: end, cause: skippedCause, now });
  await tx.run(
    sql`UPDATE ${names.table('$lane')} SET cursor = ${end} WHERE ${names.instance.condition} AND endpoint = ${endpoint}`,
  );
  await skipUndecided(tx, endpoint);
}

/** Ends deliveries without an outcome from `first` to `last`. */
export async function insertGap(
  tx: Transaction,
  gap: {
    readonly endpoint: number;
    readonly first: number;
    readonly last: number;
    readonly cause: string;
    readonly now: Timestamp;
  },
): Promise<void> {
  const { names } = tx;
  const { endpoint, first, last, cause, now } = gap;
  await tx.run(sql`
    INSERT INTO ${names.table('$gap')} (${names.instance.column}endpoint, first, last, status, cause, created)
    VALUES (${names.instance.value}${endpoint}, ${first}, ${last}, 'cancelled', ${cause}, ${now})`);
}

interface NewGap {
  readonly endpoint: number;
  readonly last: Sql;
  readonly cause: string;
  readonly now: Timestamp;
}

/** Inserts a gap of cancelled deliveries that begins behind the lane's cursor. */
async function insertGapBehind(tx: Transaction, { endpoint, last, cause, now }: NewGap): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    INSERT INTO ${names.table('$gap')} (${names.instance.column}endpoint, first, last, status, cause, created)
    SELECT ${names.instance.value}endpoint, cursor + 1, ${last}, 'cancelled', ${cause}, ${now}
    FROM ${names.table('$lane')} WHERE ${names.instance.condition} AND endpoint = ${endpoint} AND cursor < ${last}`);
}
